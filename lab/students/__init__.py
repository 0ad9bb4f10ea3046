"""Students' own policies: a file from a template, its check, the class's scoreboard."""

"""Students' own policies: the file made from a template, its check, and the class's scoreboard."""

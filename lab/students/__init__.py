"""Students' own policies: the files of a new policy, its check, and the class's scoreboard."""

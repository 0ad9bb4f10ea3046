"""The program `doorbuster`: one table of commands, each imported when it is called."""

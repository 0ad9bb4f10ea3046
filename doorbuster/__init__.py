"""The program `doorbuster`, whose commands are imported when they are called."""

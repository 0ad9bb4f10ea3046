"""The command line `doorbuster`."""

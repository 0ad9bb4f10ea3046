"""The commands that start, show, check and stop the appliance on one machine, and its settings."""

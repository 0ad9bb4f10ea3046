"""The documentation site, served by the console."""

"""The console's API for programs, and the page of tokens."""

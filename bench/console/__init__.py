"""The console while the shop is overloaded: its pages, its viewers, and the cost of both."""

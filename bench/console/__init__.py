"""The console while the shop is overloaded: its page times, and the cost of its viewers."""

"""The console while the shop is overloaded: the times of its pages, and the cost of its viewers."""

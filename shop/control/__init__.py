"""The controller: the shop's settings, its state and its metrics for those who operate it."""

"""The controller: the shop's settings, its state and its metrics, for the shop's operators."""

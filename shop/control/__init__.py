"""The controller: the shop's settings, state and metrics, for its operators."""

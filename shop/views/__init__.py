"""The views of the shop's pages."""

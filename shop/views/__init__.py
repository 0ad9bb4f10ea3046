"""The views of the shop's pages; each module serves one area of the shop."""

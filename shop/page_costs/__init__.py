"""The cost of pages, which take as long as the papers' pages, and its measurement."""

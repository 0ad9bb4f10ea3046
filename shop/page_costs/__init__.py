"""The cost of pages and its measurement; the pages take as long as the papers' pages."""

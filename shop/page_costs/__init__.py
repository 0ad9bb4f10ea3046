"""The cost of pages: they take as long as the papers' pages, and this machine is measured."""

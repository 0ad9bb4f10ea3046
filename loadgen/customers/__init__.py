"""Customers at work: their browser, their connection, and the pages that they ask for."""

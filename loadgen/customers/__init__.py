"""The customers: their browsers, their connections, and the pages that they request."""

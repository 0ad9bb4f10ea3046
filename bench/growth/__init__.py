"""The growth of costs with load, queues, sessions, the catalogue, banners and viewers."""

"""The gateway: a reverse proxy whose policy decides which request is served next."""

"""The gateway: a reverse proxy that decides which request is served next, and which never."""

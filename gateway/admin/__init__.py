"""The operators' view of the gateway: the admin API, its server, metrics."""

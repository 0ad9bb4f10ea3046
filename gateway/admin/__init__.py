"""The operators' interface to the gateway: the admin API, its server and the metrics."""

"""What operators see and change: the admin API, its server, metrics."""

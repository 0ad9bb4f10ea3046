"""The server of the shop: Gunicorn on the shop's CPUs."""

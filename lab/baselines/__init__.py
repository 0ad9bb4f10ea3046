"""Baselines: HAProxy and nginx in place of the gateway, as the distribution has them."""

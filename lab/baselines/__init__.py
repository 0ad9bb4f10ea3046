"""Baselines: HAProxy and nginx, as the distribution packages them, in place of the gateway."""

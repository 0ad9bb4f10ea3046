"""Baselines: HAProxy and nginx from the distribution, in place of the gateway."""

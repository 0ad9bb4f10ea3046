"""Baselines: HAProxy and nginx from the distribution's packages, in place of the gateway."""

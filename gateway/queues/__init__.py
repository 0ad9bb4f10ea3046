"""Waiting requests: their routing, queues and dispatcher, and the probe of the shop's load."""

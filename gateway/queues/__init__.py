"""The requests that wait: their routing, their queues, the dispatcher that drives the policy, and
the probe of the shop's load.
"""

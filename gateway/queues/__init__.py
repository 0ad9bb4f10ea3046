"""The handling of waiting requests: routing, queues, the dispatcher that drives the policy, and the
probe of the shop's load.
"""

"""The waiting requests: routing, queues, the dispatcher that drives the policy, the shop's load."""

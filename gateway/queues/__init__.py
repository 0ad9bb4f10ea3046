"""Where a request waits: routing, lanes, the dispatcher that drives the policy, the shop's load."""

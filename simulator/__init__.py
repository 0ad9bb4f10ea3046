"""The simulation of policies and customers in virtual time.

The package imports only the standard library, `gateway.policies` and the workload model of
`loadgen`, so that it also runs in a browser. All times are paper seconds since the simulation's
start.
"""

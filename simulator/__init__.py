"""The simulation: the gateway's policies and the customers' workload model in virtual time.

The package imports the standard library, `gateway.policies` and the workload model of `loadgen`. So
it also runs where the project's other libraries are missing, as in a browser; tests check both. All
times are paper seconds since the simulation's start.
"""

"""The simulation of the gateway's policies and the customers' workload model in virtual time.

The package imports the standard library, `gateway.policies` and the workload model of `loadgen`. It
therefore also runs without the project's other libraries, for example in a browser. Tests check
both facts. All times are paper seconds since the simulation's start.
"""

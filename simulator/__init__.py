"""The simulation of policies and customers in virtual time.

A shop's simulation needs no library outside this repository, so it also runs in a browser. All
times are paper seconds since the simulation's start.
"""

"""The simulation of policies and customers in virtual time.

A shop's simulation needs no library outside this repository, so it also runs in a browser. All
times are in paper seconds; moments are counted from the simulation's start.
"""

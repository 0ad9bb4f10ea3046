"""The simulation of policies and customers in virtual time.

All times are in paper seconds; moments are counted from the simulation's start.
"""

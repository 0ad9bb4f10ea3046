"""The load generator: the pure model of sessions, the schema of attempts and the Locust
customers.
"""

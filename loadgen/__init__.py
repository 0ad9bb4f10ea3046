"""The load generator: the model of sessions, the schema of attempts and the Locust customers."""

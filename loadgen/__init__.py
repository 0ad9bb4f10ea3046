"""The load generator: the pure session model, the attempt schema and the Locust customers."""

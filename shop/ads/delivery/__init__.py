"""The delivery of contracts: impressions in memory, and their way to the database."""

"""The delivery of contracts: impressions are counted in memory, then reported to the database."""

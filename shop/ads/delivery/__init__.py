"""The delivery of contracts, whose impressions are counted in memory, then reported to the
database.
"""

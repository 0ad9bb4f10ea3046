"""The results database: the results as tables of PostgreSQL."""

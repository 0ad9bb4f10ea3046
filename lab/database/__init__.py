"""The results database: copies of results in tables of PostgreSQL."""

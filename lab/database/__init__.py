"""The results database, which has copies of results in tables of PostgreSQL."""

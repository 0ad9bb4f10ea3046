"""The migrations of the tables, written by Django."""

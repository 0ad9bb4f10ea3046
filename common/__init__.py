"""Helpers for every package of the project; they import no other package of it."""

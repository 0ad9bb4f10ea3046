"""Helpers that every package of the project may import; they import no other package."""

"""Shadows: policies that are told everything and act on nothing."""

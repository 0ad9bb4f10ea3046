"""Shadows: policies that decide in simulated worlds, without effect on real requests."""

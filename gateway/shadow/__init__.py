"""Shadows: policies that receive all events, and whose verdicts have no effect."""

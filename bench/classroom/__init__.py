"""Thirty students at once on one console, and the attacks of hostile students."""

"""Thirty students on one console at the same time, and the attacks of hostile students."""

"""The engine for live runs: real customers in the real shop."""

"""The engine for live runs: simulated customers in the real shop."""

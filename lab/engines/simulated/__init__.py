"""The engine for simulated runs."""

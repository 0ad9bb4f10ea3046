"""The commands that start, show and stop the appliance on one machine, with its settings,
PostgreSQL, Redis, supervisor, health checks and doctor.
"""

"""The commands that start, show and stop the whole appliance on one machine.

The package contains the settings that every process reads, the start of PostgreSQL and Redis, the
supervisor, the health checks and the doctor.
"""

"""The start and stop of the whole appliance on one machine.

The package has the settings that every process reads, the start of PostgreSQL and Redis, the
supervisor, the health checks and the doctor.
"""

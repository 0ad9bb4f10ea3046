"""The start and the stop of the whole appliance on one machine.

The package has the settings every process reads, PostgreSQL and Redis, the supervisor, health and
the doctor.
"""

"""Starting and stopping the whole appliance on one machine.

Owns: the settings every process reads, PostgreSQL and Redis, the supervisor, health and the doctor.
Must not know: what the gateway decides, what the shop sells, how a run is measured.
"""

"""The appliance as processes of this machine: services, programs, start and stop."""

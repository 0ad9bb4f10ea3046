"""The appliance as processes of this machine: its services, their programs, start and stop."""

"""The appliance in containers: the settings, certificates and services of docker-compose.yml."""

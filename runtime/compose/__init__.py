"""The appliance in containers: settings, certificates and services of docker-compose.yml."""

"""What watches the lab: metrics as they are, Prometheus, Grafana."""

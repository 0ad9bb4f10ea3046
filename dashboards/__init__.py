"""Monitoring of the lab: the metrics of all parts, Prometheus, Grafana."""

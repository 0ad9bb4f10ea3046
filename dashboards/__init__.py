"""The monitoring of the lab: the metrics of all parts, Prometheus' rules and Grafana's
dashboards.
"""

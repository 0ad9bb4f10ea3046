"""Grafana's dashboards, written by `python -m dashboards.grafana` (`make dashboards`)."""

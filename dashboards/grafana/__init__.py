"""Grafana's dashboards, written by a program: `python -m dashboards.grafana` (`make dashboards`).

What is committed under `dashboards/` and `provisioning/` is all that Grafana reads.
"""

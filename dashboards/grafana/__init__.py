"""Grafana's dashboards, written by the program `python -m dashboards.grafana` (`make dashboards`).

Grafana reads only the committed files under `dashboards/` and `provisioning/`.
"""

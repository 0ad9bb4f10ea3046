"""Grafana's dashboards, written by a program: `python -m dashboards.grafana` (`make dashboards`).

Owns: the dashboards and how Grafana finds them and its data. Must not know: how Grafana is started.
What is committed under `dashboards/` and `provisioning/` is all that Grafana reads.
"""

"""The monitoring of the lab: metrics, Prometheus' rules and Grafana's dashboards."""

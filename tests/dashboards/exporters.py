"""The metrics of other projects' exporters that the rules and dashboards use, with labels."""

from typing import Final

_DATABASE: Final = frozenset({"datid", "datname"})

SERIES: Final[dict[str, dict[str, frozenset[str]]]] = {
    "node": {
        "node_cpu_seconds_total": frozenset({"cpu", "mode"}),
        "node_memory_MemAvailable_bytes": frozenset(),
        "node_memory_MemTotal_bytes": frozenset(),
        "node_load1": frozenset(),
    },
    "postgres": {
        "pg_up": frozenset(),
        "pg_settings_max_connections": frozenset(),
        "pg_stat_activity_count": frozenset({"datname", "state"}),
        "pg_stat_database_xact_commit": _DATABASE,
        "pg_stat_database_xact_rollback": _DATABASE,
        "pg_stat_database_blks_hit": _DATABASE,
        "pg_stat_database_blks_read": _DATABASE,
    },
    "redis": {
        "redis_up": frozenset(),
        "redis_commands_processed_total": frozenset(),
        "redis_memory_used_bytes": frozenset(),
        "redis_connected_clients": frozenset(),
    },
    "prometheus": {
        "prometheus_target_scrapes_exceeded_sample_limit_total": frozenset(),
        "prometheus_target_scrape_pool_exceeded_label_limits_total": frozenset(),
    },
}
"""The series of each job, by name, with the labels that all versions of the exporter have."""

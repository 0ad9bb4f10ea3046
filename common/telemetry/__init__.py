"""Traces of single requests: their ids, and the export of their spans to a collector."""

from typing import TYPE_CHECKING

from common.settings import SettingsError

if TYPE_CHECKING:
    from common.telemetry.export import SpanExport


def export_to(endpoint: str, service: str) -> "SpanExport":
    """Return an export of a service's spans to the collector at this address.

    Raises SettingsError if the extra `telemetry` is not installed.
    """
    try:
        from common.telemetry.export import SpanExport
    except ImportError:
        raise SettingsError(
            "DOORBUSTER_TELEMETRY_ENDPOINT needs the extra telemetry; "
            "fix: uv sync --inexact --extra telemetry"
        ) from None
    return SpanExport(endpoint, service)

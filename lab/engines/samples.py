"""The samples of a run: the state of the policy and of the server in each utilisation interval."""

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq

from common import private_file
from gateway.policies.interface import PAGES
from simulator.record import SAMPLED_FATES

SCHEMA = pa.schema(
    [
        pa.field("time_s", pa.float64()),  # paper seconds since sampling began
        pa.field("policy", pa.string()),
        pa.field("discipline", pa.string()),
        pa.field("cpu_utilisation_ratio", pa.float64()),
        pa.field("busy_workers", pa.int32()),
        pa.field("in_service", pa.int32()),
        pa.field("waiting", pa.int32()),
        *(pa.field(f"waiting_{page}", pa.int32()) for page in PAGES),
        *(pa.field(f"{fate}_total", pa.int64()) for fate in SAMPLED_FATES),
        pa.field("confirms_total", pa.int64()),
        # The values of the admission policy; null without an admission policy.
        pa.field("predicted_utilisation_ratio", pa.float64()),
        pa.field("measured_utilisation_ratio", pa.float64()),
        pa.field("admission_weight", pa.float64()),
        pa.field("admits", pa.bool_()),
        pa.field("quota", pa.float64()),
        pa.field("admitted_total", pa.int64()),
        pa.field("aborted_total", pa.int64()),
    ]
)
_OF_ADMISSION = {
    "predicted_utilisation_ratio": "predicted_utilisation_ratio",
    "measured_utilisation_ratio": "measured_utilisation_ratio",
    "admission_weight": "weight",
    "admits": "admits",
    "quota": "quota",
    "admitted_total": "admitted",
    "aborted_total": "aborted",
}
"""For each column, the key of its value in the snapshot of the admission policy."""


def of_admission(snapshot: Mapping[str, Any] | None) -> dict[str, Any]:
    """Return the columns of an admission policy's snapshot; all are None without such a policy."""
    known = snapshot or {}
    return {column: known.get(name) for column, name in _OF_ADMISSION.items()}


def write_samples(samples: pa.Table, path: Path) -> None:
    """Write samples.parquet, either completely or not at all."""
    draft = path.with_name(f".{path.name}")
    pq.write_table(samples, draft)
    private_file.put(draft, path)

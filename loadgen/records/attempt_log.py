"""The log of a run's attempts, the file `attempts.parquet`."""

from collections import Counter
from pathlib import Path
from typing import Any

import pyarrow as pa

from loadgen.records.attempts import AttemptOutcome
from loadgen.records.rows import (
    RowLog,
    distinct,
    metadata_of,
    read_rows,
    require_known,
    require_schema,
)

SCHEMA = pa.schema(
    [
        pa.field("session", pa.int32(), nullable=False),
        pa.field("step", pa.int16(), nullable=False),
        pa.field("page", pa.string(), nullable=False),
        pa.field("attempt", pa.int16(), nullable=False),
        pa.field("intended_s", pa.float64()),
        pa.field("started_s", pa.float64()),
        pa.field("finished_s", pa.float64()),
        pa.field("patience_s", pa.float64()),
        pa.field("outcome", pa.string(), nullable=False),
        pa.field("status", pa.int16(), nullable=False),
        pa.field("request_id", pa.string(), nullable=False),
    ]
)


class AttemptLog(RowLog):
    """The log of a run's attempts; attempts with equal session, step and number keep their
    order.
    """

    schema = SCHEMA
    order = (("session", "ascending"), ("step", "ascending"), ("attempt", "ascending"))

    def outcomes_between(self, first_s: float, last_s: float) -> Counter[str]:
        """Return, by outcome, the number of attempts that ended in [first_s, last_s), in paper
        seconds.
        """
        return Counter(
            outcome
            for outcome, finished_s in zip(
                self.column("outcome"), self.column("finished_s"), strict=True
            )
            if finished_s is not None and first_s <= finished_s < last_s
        )


def read_attempts(path: Path) -> pa.Table:
    """Return the table in an `attempts.parquet`.

    Raises `RowsFileError` if the file is not such a table or has unknown outcomes.
    """
    table = read_rows(path, SCHEMA)
    outcomes = table.column("outcome").unique().to_pylist()
    require_known(path, "outcome", outcomes, list(AttemptOutcome))
    return table


def require_attempts(path: Path) -> None:
    """Check the file piece by piece. Raises RowsFileError if it is invalid."""
    require_schema(path, SCHEMA)
    require_known(path, "outcome", distinct(path, "outcome"), list(AttemptOutcome))


def read_metadata(path: Path) -> dict[str, Any]:
    """Return the run's metadata in the file. Raises the errors of `read_attempts`."""
    return metadata_of(read_attempts(path))

"""What is kept of a run of the Connection Sentry's clients, simulated or live.

Owns: the control set's requests by class, the time per task, reading both off a run.
Must not know: figures, papers, how a run is made.

All times are paper seconds. Metrics are JSON-ready.
"""

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from lab.experiments.reproduction.cases import Case
from loadgen.attempts import AttemptOutcome
from loadgen.clients import KIND_PAGE

Floats = npt.NDArray[np.float64]


def client_metrics(
    attempts: pa.Table,
    samples: Mapping[str, Sequence[Any]],
    waste: Mapping[str, float | None],
    case: Case,
) -> dict[str, Any]:
    """The control set by class, the level of multiprogramming, the waste of a whole run.

    `samples` are columns of samples.parquet, `waste` is run.json's. A latency is the mean response
    time of the requests that begin after the warm-up and are answered, however late: nobody of the
    control set leaves. Throughput counts what is answered after the warm-up and until
    `duration_s`, when the clients end, whenever it began: else the more would be missing at both
    ends, the longer requests take.
    """
    model, until_s = case.client_model(), case.duration_s
    assert until_s is not None
    control = attempts.filter(pc.less(attempts.column("session"), model.per_set))
    return {
        "measured_s": until_s - case.warm_up_s,
        "classes": {
            kind: _class(
                control.filter(pc.equal(control.column("page"), page)), case.warm_up_s, until_s
            )
            for kind, page in KIND_PAGE.items()
        },
        "busy": busy(samples, case.warm_up_s, until_s),
        "waste": dict(waste),
    }


def _class(attempts: pa.Table, warm_up_s: float, until_s: float) -> dict[str, Any]:
    started_s = attempts.column("started_s").to_numpy()
    finished_s = attempts.column("finished_s").to_numpy()
    is_answered = pc.equal(attempts.column("outcome"), AttemptOutcome.COMPLETED.value).to_numpy(
        zero_copy_only=False
    )
    is_measured = started_s >= warm_up_s
    times_s = (finished_s - started_s)[is_answered & is_measured]
    in_time = is_answered & (finished_s > warm_up_s) & (finished_s <= until_s)
    return {
        "asked": int(is_measured.sum()),
        "answered": int(in_time.sum()),
        "latency_s": float(times_s.mean()) if len(times_s) else None,
    }


def busy(
    samples: Mapping[str, Sequence[Any]], warm_up_s: float, until_s: float
) -> dict[str, float | None]:
    """How many pages wait and are served on average, and how long one waits for a worker.

    The wait is Little's: the mean number that waits over the arrivals per second. Times count
    from the first sample with arrivals since the one before: a live run is sampled before its
    clients are there. None where there are no two samples to go by.
    """
    arrived = _column(samples, "arrived_total")
    time_s = _column(samples, "time_s")
    nothing: dict[str, float | None] = dict.fromkeys(("in_service", "waiting", "queue_s"))
    come = np.flatnonzero(arrived[1:] > arrived[:-1])
    if not len(come):
        return nothing
    began_s = time_s[come[0]]
    inside = np.flatnonzero((time_s >= began_s + warm_up_s) & (time_s <= began_s + until_s))
    if len(inside) < 2:
        return nothing
    waiting = float(_column(samples, "waiting")[inside].mean())
    window_s = float(time_s[inside[-1]] - time_s[inside[0]])
    arrivals = float(arrived[inside[-1]] - arrived[inside[0]])
    return {
        "in_service": float(_column(samples, "in_service")[inside].mean()),
        "waiting": waiting,
        "queue_s": waiting * window_s / arrivals if arrivals else None,
    }


def _column(samples: Mapping[str, Sequence[Any]], name: str) -> Floats:
    return np.asarray(samples[name], dtype=np.float64)


def shop_tasks(
    before: Mapping[str, Any], after: Mapping[str, Any], case: Case, time_scale: float
) -> dict[str, dict[str, float | None]]:
    """What the shop says of its pages between two `GET /status`, by class of request.

    `build_s`: to make a page; of it `cpu_s` on the CPU, `database_s` waiting for answers of the
    database, `other_s` for a CPU or the interpreter. Means of the pages that were made to their
    end; classes of which there were none are left out. Only profile `real` tells the two waits
    apart; None in others.
    """
    is_real = case.server["page_profile"] == "real"
    found: dict[str, dict[str, float | None]] = {}
    for kind, page in KIND_PAGE.items():
        if page not in after["pages"]:
            continue  # files are not counted by the shop
        now, then = after["pages"][page], before["pages"][page]
        served = now["served"] - then["served"]
        if served:
            build_s, cpu_s, database_s = (
                time_scale * (now[name] - then[name]) / served
                for name in ("execution_s", "cpu_s", "own_wait_s")
            )
            found[kind] = {
                "build_s": build_s,
                "cpu_s": cpu_s,
                "database_s": database_s if is_real else None,
                "other_s": build_s - cpu_s - database_s if is_real else None,
            }
    return found

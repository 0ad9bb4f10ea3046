"""All metrics of the project's parts, as their collectors report them.

`python -m dashboards.metrics PART` prints one part's metrics as JSON, in a separate process,
because a process can belong to only one Django project.
"""

import asyncio
import json
import os
import subprocess
import sys
import tempfile
from collections.abc import Callable, Iterable
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Final

from prometheus_client import CollectorRegistry, Metric, ProcessCollector

ROOT: Final = Path(__file__).resolve().parent.parent
PATIENCE_S: Final = 240.0
LIBRARY: Final = "process"
"""The key of the client library's metrics, which belong to no part."""


@dataclass(frozen=True, slots=True)
class Described:
    """The description of a metric; `labels` does not include the labels of its target."""

    name: str
    type: str
    labels: tuple[str, ...]
    meaning: str

    @property
    def series(self) -> tuple[str, ...]:
        """The names of the series that Prometheus stores: three for a histogram, otherwise one."""
        if self.type == "histogram":
            return tuple(f"{self.name}_{kind}" for kind in ("bucket", "sum", "count"))
        return (self.name,)


def every() -> dict[str, list[Described]]:
    return {part: _asked(part) for part in PARTS}


def _asked(part: str) -> list[Described]:
    with tempfile.TemporaryDirectory(prefix="doorbuster-metrics-") as folder:
        environment = {
            name: text
            for name, text in os.environ.items()
            if not name.startswith(("DOORBUSTER_", "DJANGO_", "PROMETHEUS_"))
        }
        environment |= {"DOORBUSTER_STATE_DIR": folder, "DOORBUSTER_RESULTS_DIR": folder}
        done = subprocess.run(
            [sys.executable, "-m", "dashboards.metrics", part],
            cwd=ROOT,
            env=environment,
            capture_output=True,
            text=True,
            timeout=PATIENCE_S,
            check=False,
        )
    if done.returncode != 0:
        raise RuntimeError(f"the metrics of {part} cannot be read:\n{done.stderr}")
    told = (one | {"labels": tuple(one["labels"])} for one in json.loads(done.stdout))
    return [Described(**one) for one in told]


# ---- in the process of one part ------------------------------------------------------------------


def _gateway() -> Iterable[Metric]:
    from gateway.service import Gateway
    from gateway.settings import read

    gateway = Gateway(read({}, {}), asyncio.new_event_loop())
    return gateway.metrics.families()


def _shop() -> Iterable[Metric]:
    _django("shop.settings")
    from shop.control import metrics

    return metrics.registry.collect()


def _ads() -> Iterable[Metric]:
    from shop.ads.delivery import metrics

    # The library shows a label only after its first count.
    metrics.started(threads=1, banners=1)
    metrics.selected(priority=0, slots=1, placed=1, took_s=0.001)
    metrics.clicked()
    metrics.exchanged(is_done=True, banners=1, unreported=0)
    return metrics.registry.collect()


def _lab() -> Iterable[Metric]:
    _django("lab.console.site.settings")
    from django.core.management import call_command

    from lab.console.server.metrics import LabMetrics
    from lab.console.site.settings import FOLDER, LAB

    FOLDER.mkdir(parents=True, exist_ok=True)
    call_command("migrate", verbosity=0)
    return LabMetrics(
        LAB, viewers=lambda: 0, workers=lambda: 0, queued_tasks=lambda: None
    ).collect()


def _cpu_manager() -> Iterable[Metric]:
    from hosting.ecm.cpu_manager import CpuManager
    from hosting.ecm.metrics import CpuManagerMetrics

    return CpuManagerMetrics(CpuManager([0], interval_s=1.0).status).collect()


def _library() -> Iterable[Metric]:
    registry = CollectorRegistry()
    ProcessCollector(registry=registry)
    return registry.collect()


PARTS: Final[dict[str, Callable[[], Iterable[Metric]]]] = {
    "gateway": _gateway,
    "shop": _shop,
    "ads": _ads,
    "lab": _lab,
    "cpu-manager": _cpu_manager,
    LIBRARY: _library,
}


def _django(settings: str) -> None:
    import django

    os.environ["DJANGO_SETTINGS_MODULE"] = settings
    django.setup()


def _described(families: Iterable[Metric]) -> list[Described]:
    found = []
    for family in families:
        labels = dict.fromkeys(getattr(family, "_labelnames", ()))
        for sample in family.samples:
            labels |= dict.fromkeys(sample.labels)
        labels.pop("le", None)
        name = f"{family.name}_total" if family.type == "counter" else family.name
        meaning = family.documentation.rstrip(".")
        found.append(Described(name, family.type, tuple(labels), meaning))
    return sorted(found, key=lambda metric: metric.name)


def main() -> None:
    part = sys.argv[1]
    found = _described(PARTS[part]())
    if part != LIBRARY:
        found = [metric for metric in found if metric.name.startswith("doorbuster_")]
    print(json.dumps([asdict(metric) for metric in found]))


if __name__ == "__main__":
    main()

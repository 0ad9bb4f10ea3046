"""A spec's tables in a moment: a handful of simulated customers for each of its runs.

Owns: that. Must not know: sheets, what the figures should be.
"""

from pathlib import Path

from lab.analysis.cells import read_cells
from lab.engines import capacity
from lab.files.documents import write_json
from lab.report.tables import write_tables
from lab.results.comparison import ComparisonResult
from lab.runner import comparison
from lab.runner.simulated import make_simulated_run
from lab.spec.experiment import Spec, changed
from lab.spec.runs import ShopRun

SESSIONS = 200
CLIENTS_S = 60.0


def small_result(spec: Spec, folder: Path) -> Path:
    """A result folder with the very tables that the spec's command makes, and no true figure."""
    arrivals = {"load__duration_s": CLIENTS_S} if spec.clients else {"load__sessions": SESSIONS}
    small = changed(
        spec,
        engine="simulated",
        repetitions=min(spec.repetitions, 2),  # two have differences by seed
        at_once=False,
        warm_up_s=0.0,
        **arrivals,
    )
    known = None if small.clients else capacity.computed(small)
    result = ComparisonResult.create(folder, small, {}, comparison.plan(small))
    write_json(result.path / "capacity.json", capacity.facts_of(known))
    for planned in comparison.plan(small):
        run = ShopRun.of_spec(small, planned.policy, planned.rho)
        make_simulated_run(run, planned.seed, result.run(planned), lambda _: None)
    write_tables(result, read_cells(result))
    return result.path

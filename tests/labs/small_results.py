"""A spec's tables in a moment: a handful of simulated customers for each of its runs.

Owns: that. Must not know: sheets, what the figures should be.
"""

from pathlib import Path

from lab.experiments import capacity, comparison
from lab.experiments.cells import read_cells
from lab.experiments.results import ResultFolder, write_json
from lab.experiments.simulated_run import make_simulated_run, server_of
from lab.experiments.spec import Spec, changed
from lab.experiments.tables import write_tables

SESSIONS = 250
CLIENTS_S = 60.0


def small_result(spec: Spec, folder: Path) -> Path:
    """A result folder with the very tables that the spec's command makes, and no true figure."""
    arrivals = {"load__duration_s": CLIENTS_S} if spec.clients else {"load__sessions": SESSIONS}
    small = changed(
        spec, engine="simulated", repetitions=1, at_once=False, warm_up_s=0.0, **arrivals
    )
    known = None if small.clients else capacity.computed(small, server_of(small))
    result = ResultFolder.create(folder, small, {}, comparison.plan(small))
    write_json(result.path / "capacity.json", capacity.facts_of(known))
    for planned in comparison.plan(small):
        make_simulated_run(
            small, planned, known and known.median_rps, result.run(planned), lambda _: None
        )
    write_tables(result, read_cells(result))
    return result.path

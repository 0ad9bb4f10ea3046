"""The command `doorbuster leaderboard`.

Owns: its parts and options, what it says. Must not know: any figure, how a run is made.
"""

from collections.abc import Callable
from typing import Any

import click

from lab.experiments.errors import SpecError
from lab.experiments.experiment_options import overridable, with_options
from lab.experiments.leaderboard import PARTS, SIMULATED_PARTS
from lab.experiments.spec import Spec, changed, load_spec
from lab.experiments.spreading import FRESH, broker_of, spread

SPECS = {"simulated": "leaderboard", "live": "live-leaderboard"}
"""The spec of a board by engine."""
QUICK = {"load__sessions": 1500, "repetitions": 2}
FAIRNESS = {"load__rho": [1.4]}

Carry = Callable[..., None]
"""Makes the comparison of a spec and reports it: the command line's own."""


def leaderboard_command(carry_out: Carry) -> click.Command:
    """The command; `carry_out(spec, fresh=, processes=, broker=)` is how a comparison is made."""

    @click.command()
    @click.argument("part", type=click.Choice(PARTS), default="board")
    @click.option(
        "--engine",
        type=click.Choice(list(SPECS)),
        default="simulated",
        show_default=True,
        help="In virtual time, or on the running appliance.",
    )
    @click.option("--quick", is_flag=True, help="Fewer customers and seeds: wide intervals.")
    @FRESH
    @spread
    @overridable
    def leaderboard(
        part: str,
        engine: str,
        quick: bool,
        fresh: bool,
        processes: int | None,
        celery: str | None,
        **given: Any,
    ) -> None:
        """How near does each policy come to the best that can be reached?

        PART: board (the default): every policy at six loads, ranks, what of DOOR carries the gain,
        fairness. robustness: other customers, another server, bursts. hysteresis: a rush of a
        minute, and how long until all is well again. fairness: the board at one load, who gets to
        the end and how soon the others know. all: board, robustness and hysteresis.

        Writes a page with pictures and tables for each. Interrupted, the same command resumes.
        """
        if engine == "live" and part in (*SIMULATED_PARTS, "all"):
            raise SpecError(f"--engine live: {part} is simulated; allowed: with board or fairness")
        if engine == "live" and (processes is not None or celery is not None):
            option = "--processes" if celery is None else "--celery"
            raise SpecError(
                f"{option}: live runs are made here, one at a time; allowed: simulated ones"
            )
        if part in SIMULATED_PARTS and given["rho"] is not None:
            raise SpecError(f"--rho: {part} brings its own loads; allowed: with board or fairness")
        broker = broker_of(celery)
        spec = _spec(engine, part, quick=quick, given=given)
        if part not in SIMULATED_PARTS:
            carry_out(spec, fresh=fresh, processes=processes, broker=broker)
        for simulated in SIMULATED_PARTS:
            if part in (simulated, "all"):
                from lab.experiments.leaderboard.studying import carry_out_study

                carry_out_study(
                    simulated, spec, quick=quick, fresh=fresh, processes=processes, broker=broker
                )

    return leaderboard


def _spec(engine: str, part: str, *, quick: bool, given: dict[str, Any]) -> Spec:
    spec = load_spec(SPECS[engine])
    spec = changed(spec, leaderboard=True, **(FAIRNESS if part == "fairness" else {}))
    if quick:
        spec = changed(spec, title=f"{spec.title} (quick)", **QUICK)
    return with_options(spec, {**given, "engine": engine})

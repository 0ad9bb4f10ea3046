"""The command `doorbuster leaderboard`."""

from pathlib import Path
from typing import Any

import click

from lab.cli.command import FRESH, TimedCommand, broker_of, print_json, refuse_for_live, spread
from lab.cli.experiment_options import overridable, with_options
from lab.cli.experiments import carry_out
from lab.errors import SpecError
from lab.files.documents import read_json
from lab.leaderboard import BOARD_FILE, PARTS, SIMULATED_PARTS, TUNING_PART
from lab.report.terminal import output
from lab.spec.experiment import Spec, changed, load_spec
from runtime import settings

SPECS = {"simulated": "leaderboard", "live": "live-leaderboard"}
"""The name of the board's spec, by engine."""
QUICK = {"load__sessions": 600, "repetitions": 5}
"""The size of a quick board. Fewer repetitions would give too wide intervals."""
QUICK_REPORT = {"load__sessions": 1500, "repetitions": 2}
"""The size of the quick reports on robustness and hysteresis."""
FAIRNESS = {"load__rho": [1.4]}


@click.command(cls=TimedCommand)
@click.argument("part", type=click.Choice(PARTS), default="board")
@click.option(
    "--engine",
    type=click.Choice(list(SPECS)),
    default="simulated",
    show_default=True,
    help="Run in virtual time (simulated) or on the running appliance (live).",
)
@click.option(
    "--quick",
    is_flag=True,
    help="Use fewer customers and, for robustness and "
    "hysteresis, fewer repetitions. The intervals are then wider.",
)
@click.option(
    "--recovery/--no-recovery",
    default=True,
    help="Also measure missing recovery times. The option applies to the parts board and all.",
)
@click.option(
    "--json",
    "as_json",
    is_flag=True,
    help="Print the board as JSON for a program; only for the parts board and fairness.",
)
@FRESH
@spread
@overridable
def leaderboard(
    part: str,
    engine: str,
    quick: bool,
    recovery: bool,
    as_json: bool,
    fresh: bool,
    processes: int | None,
    celery: str | None,
    **given: Any,
) -> None:
    """Rank all policies by the share of the possible sales that each policy reaches.

    The command writes a page with pictures and tables for each PART. To resume after an
    interruption, repeat the command.

    \b
    PART is one of:
      board       every policy at six loads: ranks, the effect of each of DOOR's
                  steps, fairness, seconds to recover after a rush (the default)
      robustness  the board with other customers, another server and bursts
      hysteresis  how long the shop stays slow after a one-minute rush
      fairness    the board at one load: which sessions complete, and how soon
                  the others are turned away
      bound       whether any policy exceeds the bound, in runs of three lengths
      tuning      find good settings: try the same number of settings for every policy,
                  HAProxy and nginx, with seeds that no board uses
      all         board, robustness, hysteresis and bound
    """
    if engine == "live" and part in ("robustness", "bound", TUNING_PART, "all"):
        raise SpecError(
            "--engine live",
            f"the part {part} needs the simulator",
            allowed="the parts board, hysteresis, fairness",
        )
    if engine == "live":
        refuse_for_live(processes, celery)
    if part in (*SIMULATED_PARTS, TUNING_PART) and given["rho"] is not None:
        raise SpecError("--rho", f"{part} has fixed loads", allowed="with board or fairness")
    if part == "bound" and (given["sessions"], given["duration_s"]) != (None, None):
        option = "--duration-s" if given["sessions"] is None else "--sessions"
        raise SpecError(option, f"{part} has fixed lengths", allowed="with another part")
    if as_json and part not in ("board", "fairness"):
        raise SpecError("--json", f"does not apply to {part}", allowed="with board or fairness")
    broker = broker_of(celery)
    if part == TUNING_PART:
        _tune(given, quick=quick, fresh=fresh, processes=processes, broker=broker)
        return
    spec = _spec(engine, part, quick=quick, given=given)
    with output(as_json=as_json, quiet=False):
        folder = _make(
            part,
            spec,
            recovery=recovery,
            quick=quick,
            fresh=fresh,
            processes=processes,
            broker=broker,
        )
    if as_json:
        print_json(read_json(folder / BOARD_FILE))


def _make(part: str, spec: Spec, *, recovery: bool, quick: bool, **options: Any) -> Path:
    """Return the folder of the board, or the results folder if the part has no board."""
    from lab.leaderboard.run_study import carry_out_study

    wants_recovery = recovery and part in ("board", "all")
    if spec.engine == "live" and (part == "hysteresis" or wants_recovery):
        _measure_recovery(spec, **options)
    elif part == "hysteresis" or (
        wants_recovery and (options["fresh"] or not _is_recovery_known(spec))
    ):
        carry_out_study("hysteresis", spec, quick=quick, **options)
    folder = settings.load().results_dir
    if part not in SIMULATED_PARTS:
        folder = Path(carry_out(spec, **options)["path"])
    for study in SIMULATED_PARTS:
        if study != "hysteresis" and part in (study, "all"):
            carry_out_study(study, spec, quick=quick, **options)
    return folder


def _spec(engine: str, part: str, *, quick: bool, given: dict[str, Any]) -> Spec:
    from lab.leaderboard.ablation import ranked

    spec = load_spec(SPECS[engine])
    spec = changed(spec, leaderboard=True, **(FAIRNESS if part == "fairness" else {}))
    if quick:
        spec = changed(
            spec,
            title=f"{spec.title} (quick)",
            **(QUICK_REPORT if part in SIMULATED_PARTS else QUICK),
        )
    spec = with_options(spec, {**given, "engine": engine})
    if not ranked(spec):
        raise SpecError(
            "--policies", "a step of DOOR's ablation has no rank", allowed="with another policy"
        )
    return spec


def _tune(given: dict[str, Any], *, quick: bool, **options: Any) -> None:
    """Search for the best settings of the named policies and proxies, by default of all."""
    from lab.baselines.sheets import PROXIES
    from lab.leaderboard import tuning
    from lab.leaderboard.run_study import carry_out_study

    for option in ("sessions", "duration_s", "repetitions", "seed"):
        if given[option] is not None:
            raise SpecError(
                f"--{option.replace('_', '-')}",
                f"{TUNING_PART} has a fixed value",
                allowed="with another part",
            )
    gateways = given["gateway"]
    proxies = tuple(PROXIES) if given["policies"] is None else ()
    if gateways is not None:
        if unknown := [name for name in gateways if name not in PROXIES]:
            raise SpecError("--gateway", f"{unknown[0]!r} is unknown", allowed=", ".join(PROXIES))
        proxies = tuple(gateways)
    base = with_options(load_spec(SPECS["simulated"]), {**given, "gateway": None})
    repetitions = tuning.QUICK_REPETITIONS if quick else tuning.REPETITIONS
    base = changed(base, seed=tuning.SEED, repetitions=repetitions)
    carry_out_study(TUNING_PART, base, quick=quick, proxies=proxies, **options)


def _is_recovery_known(spec: Spec) -> bool:
    from lab.leaderboard import recovery
    from lab.machine.description import describe_versions

    found = recovery.find(settings.load().results_dir, spec, describe_versions())
    return recovery.is_complete(found, spec)


def _measure_recovery(spec: Spec, *, fresh: bool, **options: Any) -> None:
    """Carry out the missing live runs of the rush, and print each row's time to recover."""
    from lab.leaderboard import recovery
    from lab.machine.description import describe_versions
    from lab.report.terminal import show

    if fresh or not _is_recovery_known(spec):
        carry_out(recovery.rush_of(spec), fresh=fresh, **options)
    found = recovery.find(settings.load().results_dir, spec, describe_versions())
    show(recovery.table(spec, found))

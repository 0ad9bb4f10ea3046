"""The commands `doorbuster live …`, which change the running shop and the live run in progress, and
`doorbuster capacity`, which measures the shop.
"""

import json
from collections.abc import Callable
from typing import Any, get_args

import click
from pydantic import ValidationError

from common.shared_settings import LONGEST_FAULT_S, SHORTEST_FAULT_S
from gateway.policies import ADMISSIONS, NO_ADMISSION, Abandonment
from hosting.options import Finite
from lab.cli.command import LabCommand
from lab.cli.experiment_options import (
    PAGE_PROFILE,
    SEED,
    TIME_SCALE,
    completing,
    policies_here,
    with_options,
)
from lab.engines.live import faults
from lab.errors import SpecError
from lab.files.run_folder import HIGHEST_LOAD_FACTOR
from lab.spec.experiment import Spec, explain
from lab.spec.sections import PolicyChoice
from runtime import settings


def _parameters(_: click.Context, option: click.Parameter, given: tuple[str, ...]) -> Any:
    """Return the parameters from arguments of the form `NAME=VALUE`, in which VALUE is JSON."""
    found: dict[str, Any] = {}
    for word in given:
        name, equals, text = word.partition("=")
        try:
            found[name] = json.loads(text)
        except ValueError:
            equals = ""
        if not equals:
            raise click.BadParameter(
                f'{word!r}: must be NAME=VALUE; allowed values: a number, or {{"Br-1": 3}} with a '
                "number for each page type"
            )
    return found


@click.command(cls=LabCommand)
@click.argument("name", metavar="POLICY", shell_complete=completing(policies_here))
@click.option(
    "--set", "parameters", metavar="NAME=VALUE", multiple=True, callback=_parameters,
    help="A parameter of the policy, e.g. capacity=50. May be repeated.",
)  # fmt: skip
@click.option(
    "--admission", default=NO_ADMISSION, show_default=True,
    shell_complete=completing(lambda: ADMISSIONS),
    help="The admission policy in front of the queueing policy.",
)  # fmt: skip
@click.option(
    "--admission-set", "admission_parameters", metavar="NAME=VALUE", multiple=True,
    callback=_parameters, help="A parameter of the admission policy. May be repeated.",
)  # fmt: skip
def policy(name: str, **given: Any) -> None:
    """Switch the gateway to another policy, which takes over all waiting requests.

    POLICY is a name from `doorbuster policy list`, or the path of a policy that you wrote.
    Parameters that you do not give have their defaults.
    """
    from lab.engines.live.run import policy_call

    try:
        choice = PolicyChoice(name=name, **given)
    except ValidationError as faults:
        raise SpecError.of(explain(faults, "POLICY")) from None
    call = policy_call(choice)
    _change(lambda appliance: appliance.gateway.call("PUT", "/policy", call))


@click.command(cls=LabCommand)
@click.argument("factor", type=Finite(0, HIGHEST_LOAD_FACTOR))
def load(factor: float) -> None:
    """Multiply the rate of arriving customers by FACTOR until the run in progress ends.

    FACTOR is a number from 0 to 10. With 1, the rate is the same as at the start of the run.
    """
    from lab.runner import under_way

    click.echo(under_way.change_load(settings.load(), factor))


@click.command(cls=LabCommand)
@click.argument("mode", type=click.Choice(get_args(Abandonment)))
def abandonment(mode: Abandonment) -> None:
    """Change what happens to a request when its customer leaves."""
    _change(lambda appliance: appliance.set_abandonment(mode))


@click.command(cls=LabCommand)
@click.argument("name", metavar="FAULT", type=click.Choice(faults.NAMES))
@click.option(
    "--for",
    "for_s",
    type=Finite(SHORTEST_FAULT_S, LONGEST_FAULT_S),
    default=100,
    show_default=True,
    help="Duration in paper seconds; at most 300 real seconds.",
)
def fault(name: str, for_s: float) -> None:
    """Cause a fault in the running shop for a limited time.

    The fault ends with the run at the latest. With slow-database, each database query of a page
    takes one paper second longer. The result of the run records the fault, and leaderboards do not
    use this result.
    """
    from lab.runner import under_way

    click.echo(under_way.cause_fault(settings.load(), name, for_s))


def _change(action: Callable[[Any], object]) -> None:
    from lab.runner import under_way

    click.echo(under_way.change(settings.load(), action))


@click.command(cls=LabCommand)
@TIME_SCALE
@PAGE_PROFILE
@SEED
def capacity(**given: Any) -> None:
    """Measure the shop's capacity in requests per paper second: the median of three closed-loop
    runs. A fourth run, with 8 customers, is for the capacity bound, which uses the larger of the
    two values.
    """
    from lab.engines import capacity as capacities
    from lab.machine.lock import live_run_lock
    from lab.report.terminal import console
    from lab.runner.live import measure_capacity, running_appliance, surroundings

    spec = with_options(Spec(), given)
    lab = settings.load()
    appliance = running_appliance(lab)
    with live_run_lock(), surroundings(appliance, spec):
        measured = measure_capacity(spec, lab, [appliance])
    each = ", ".join(f"{rps:.3f}" for rps in measured.measurements_rps)
    console.print(
        f"Capacity {measured.median_rps:.3f} requests per paper second (median of {each})"
    )
    console.print(
        "Live runs with the same customers and settings use this capacity for the next "
        f"{capacities.KEPT_FOR.days * 24} hours, unless the machine or the code changes."
    )
    console.print(f"Kept in {capacities.file_of(lab, measured, measured.lengths)}")

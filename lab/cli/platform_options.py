"""The options of commands that start a hosting platform."""

from dataclasses import fields
from typing import Any, get_args

import click

from gateway.policies.connection_admission import PlatformAdmission
from gateway.policies.processor_assignment import Provisioning, Sharing
from hosting.options import (
    MOST_APPLICATIONS,
    CpuList,
    Finite,
    PlatformOptions,
    Profile,
)
from hosting.starting import HostingError
from lab.cli.command import Decorator, all_of
from lab.engines.hosted import connection_costs
from lab.errors import SpecError
from runtime.settings import Settings

_DEFAULTS = {field.name: field.default for field in fields(PlatformOptions)}


def _option(flag: str, name: str, **given: Any) -> Decorator:
    return click.option(flag, name, default=_DEFAULTS[name], show_default=True, **given)


def _choice(flag: str, name: str, among: Any, meaning: str) -> Decorator:
    return _option(flag, name, type=click.Choice(get_args(among)), help=meaning)


KEY_OPTION = _option(
    "--key",
    "key",
    help="The key of the server certificate: ec-p256 or rsa-2048 … rsa-16384; a larger key makes "
    "new connections more expensive.",
)
PROFILE_OPTION = _choice("--page-profile", "profile", Profile, "The work of a page in the shops.")
TIME_SCALE_OPTION = _option(
    "--time-scale", "time_scale", type=Finite(0.1, 1000), help="Paper seconds per real second."
)
THREADS_OPTION = click.option(
    "--shop-threads",
    type=click.IntRange(1, 100),
    help="The number of threads in each shop process; by default 30, or fewer if PostgreSQL has "
    "too few connections.",
)


def _priorities(
    _: click.Context, option: click.Parameter, text: str | None
) -> tuple[float, ...] | None:
    if text is None:
        return None
    try:
        return tuple(float(part) for part in text.split(","))
    except ValueError:
        raise click.BadParameter(f"{text!r}: must be numbers, e.g. 2,1") from None


CPUS_OPTION = click.option(
    "--cpus",
    type=CpuList(),
    default=(),
    help="The processors of the platform, e.g. 0-1 or 0,2-3; by default all processors.",
)

of_platform = all_of(
    _option(
        "--applications",
        "applications",
        type=click.IntRange(1, MOST_APPLICATIONS),
        help="The number of complete shops.",
    ),
    CPUS_OPTION,
    click.option(
        "--priorities",
        callback=_priorities,
        help="The weight of each application, e.g. 2,1 (Gold and Silver); by default all weights "
        "are equal.",
    ),
    _choice(
        "--provisioning",
        "provisioning",
        Provisioning,
        "ecm: the CPU manager assigns processors. static: each application has the same constant "
        "share. linux: all applications run on all processors, and the admission control of each "
        "application assumes that the application has all processors.",
    ),
    _choice(
        "--sharing",
        "sharing",
        Sharing,
        "The applications that may share a processor in halves. both: any two. to-high: "
        "an application gives half a processor only to an application of higher priority. none: "
        "no applications.",
    ),
    _choice(
        "--admission",
        "admission",
        PlatformAdmission,
        "eac: refuse new connections that the application's processors cannot serve. none: refuse "
        "no connection; the CPU manager counts each application as needing all processors.",
    ),
    click.option(
        "--cto",
        "cto_s",
        type=Finite(0, min_open=True),
        help="The CPU time of a resumed connection in paper seconds; by default, the value that "
        "`doorbuster profile-connections` has measured.",
    ),
    click.option(
        "--ctn",
        "ctn_s",
        type=Finite(0, min_open=True),
        help="The CPU time of a new connection in paper seconds; by default, the measured value.",
    ),
    KEY_OPTION,
    TIME_SCALE_OPTION,
    PROFILE_OPTION,
    THREADS_OPTION,
)
"""The options that `platform_options` reads."""


def platform_options(lab: Settings, given: dict[str, Any]) -> PlatformOptions:
    """Return the platform's options. If `eac` has no costs, they are read from the last
    measurement.

    Raises SpecError if an option is invalid, and ExperimentError if a necessary cost was not
    measured.
    """
    chosen = dict(given)
    if chosen["priorities"] is None:
        chosen["priorities"] = (1.0,) * chosen["applications"]
    costs_given = (chosen["cto_s"] is not None, chosen["ctn_s"] is not None)
    if any(costs_given) and not all(costs_given):
        raise SpecError("--cto and --ctn: give both options or neither")
    # Invalid options are reported before missing measurements.
    checked(chosen | {"admission": "none", "cto_s": None, "ctn_s": None})
    if chosen["admission"] == "eac" and not any(costs_given):
        costs = connection_costs.kept(
            lab, key=chosen["key"], profile=chosen["profile"], time_scale=chosen["time_scale"]
        )
        chosen |= {"cto_s": costs.cto_s, "ctn_s": costs.ctn_s}
    return checked(chosen)


def checked(given: dict[str, Any]) -> PlatformOptions:
    """Return the options of a platform from these values; raises SpecError if one is invalid."""
    try:
        return PlatformOptions(**given)
    except HostingError as fault:
        raise SpecError(str(fault)) from None

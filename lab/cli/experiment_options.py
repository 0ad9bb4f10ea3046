"""The options that change a spec, and the shell's completion of names."""

from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, TypeAlias, get_args

import click
from click.shell_completion import CompletionItem
from pydantic import ValidationError

from gateway.policies import ADMISSIONS, NO_ADMISSION, POLICIES, Abandonment, is_path
from gateway.students import files
from lab.baselines.sheets import PROXIES
from lab.cli.command import all_of
from lab.errors import SpecError
from lab.spec.experiment import SPECS, Spec, changed, explain
from lab.spec.sections import PolicyChoice

Complete: TypeAlias = Callable[[click.Context, click.Parameter, str], list[CompletionItem]]


def completing(names: Callable[[], Iterable[str]], *, lists: bool = False) -> Complete:
    """Return a function that completes one of these names; with `lists`, the last name in a list
    separated by commas.
    """

    def complete(_: click.Context, __: click.Parameter, begun: str) -> list[CompletionItem]:
        before = begun[: begun.rfind(",") + 1] if lists else ""
        found = (before + name for name in names())
        return [CompletionItem(name) for name in found if name.startswith(begun)]

    return complete


def policies_here() -> list[str]:
    """Return the names of the included policies and the paths of the policies in own/."""
    return [*POLICIES, *files.listed(Path(files.FOLDER))]


def _specs() -> list[str]:
    return [path.stem for path in sorted(SPECS.glob("*.toml"))]


def complete_spec(
    context: click.Context, option: click.Parameter, begun: str
) -> list[CompletionItem]:
    """Return the included specs that begin with the typed letters, then files."""
    file = CompletionItem(begun, type="file")
    return [*completing(_specs)(context, option, begun), file]


def _floats(_: click.Context, option: click.Parameter, text: str | None) -> list[float] | None:
    if text is None:
        return None
    try:
        return [float(part) for part in text.split(",")]
    except ValueError:
        raise click.BadParameter(
            f"{text!r}; allowed: numbers separated by commas, e.g. 0.85,1.4,2"
        ) from None


def _names(_: click.Context, option: click.Parameter, text: str | None) -> list[str] | None:
    return None if text is None else [name.strip() for name in text.split(",")]


PAGE_PROFILE = click.option(
    "--page-profile", type=click.Choice(["paper", "cpu", "real"]), help="The work of each page."
)
SEED = click.option("--seed", type=int, help="Seed of the first repetition.")
TIME_SCALE = click.option("--time-scale", type=float, help="Paper seconds per real second.")

overridable = all_of(
    click.option(
        "--policies",
        callback=_names,
        shell_complete=completing(policies_here, lists=True),
        help="The policies to run, by name or by label in the spec, e.g. sq,8q-lifo-pri.",
    ),
    click.option(
        "--gateway",
        callback=_names,
        shell_complete=completing(lambda: ["doorbuster", *PROXIES], lists=True),
        help="Live: baseline proxies that replace the gateway (haproxy, nginx); with doorbuster "
        "in the list, the spec's policies also run.",
    ),
    click.option(
        "--admission",
        callback=_names,
        shell_complete=completing(lambda: ADMISSIONS, lists=True),
        help="Admission policies to put in front of each queueing policy, e.g. "
        "none,sbac-responsive.",
    ),
    click.option(
        "--abandonment",
        callback=_names,
        shell_complete=completing(lambda: get_args(Abandonment), lists=True),
        help="Run each policy with each of these abandonment modes, e.g. ignore,cancel.",
    ),
    click.option("--rho", callback=_floats, help="Offered loads, e.g. 0.85,1.4,2."),
    click.option("--sessions", type=int, help="The number of sessions started in each run."),
    click.option(
        "--duration-s",
        type=float,
        help="The time during which sessions arrive, in paper seconds (instead of --sessions).",
    ),
    click.option(
        "--at-once/--in-turn",
        default=None,
        help="Live: run 2 to 4 policies at the same time, each on a shop with separate CPUs.",
    ),
    click.option(
        "--crowded",
        is_flag=True,
        help="Like --at-once, but also with too few CPUs. The shops then share CPUs, and the "
        "measured numbers are meaningless. Use this option only for a trial.",
    ),
    click.option(
        "--repetitions",
        type=int,
        help="The number of runs for every policy and ρ, each with a different seed.",
    ),
    SEED,
    TIME_SCALE,
    PAGE_PROFILE,
)
"""The options that `with_options` reads."""


ONLY_LIVE = ("gateway", "at_once", "crowded", "time_scale")
"""The names of the options in `overridable` that only apply to live runs."""


def with_options(spec: Spec, given: Mapping[str, Any]) -> Spec:
    """Return `spec` with the values that the command line gives. Raises SpecError if two options
    exclude each other or the new spec is invalid.
    """
    if given.get("sessions") is not None and given.get("duration_s") is not None:
        raise SpecError("--duration-s", "given together with --sessions", allowed="one of them")
    if given.get("crowded") and given.get("at_once") is False:
        raise SpecError("--crowded", "given together with --in-turn", allowed="one of them")
    policies = None
    if any(given.get(option) for option in ("policies", "gateway", "admission", "abandonment")):
        choices = _standing(spec, given.get("policies"), given.get("gateway"))
        if given.get("admission"):
            choices = list(_behind(spec, choices, given["admission"]))
        if given.get("abandonment"):
            choices = list(_when_left(choices, given["abandonment"]))
        policies = [choice.model_dump(mode="json", exclude_none=True) for choice in choices]
    return changed(
        spec,
        _OPTIONS,
        engine=given.get("engine"),
        policy=policies,
        load__rho=given.get("rho"),
        load__sessions=given.get("sessions"),
        load__duration_s=given.get("duration_s"),
        repetitions=given.get("repetitions"),
        seed=given.get("seed"),
        time_scale=given.get("time_scale"),
        page_profile=given.get("page_profile"),
        at_once="crowded" if given.get("crowded") else given.get("at_once"),
    )


_OPTIONS = {
    "load.rho": "--rho",
    "load.sessions": "--sessions",
    "load.duration_s": "--duration-s",
    "repetitions": "--repetitions",
    "seed": "--seed",
    "time_scale": "--time-scale",
    "page_profile": "--page-profile",
}
"""The option with which an error message names each key of the spec."""


def _standing(
    spec: Spec, names: Sequence[str] | None, gateways: Sequence[str] | None
) -> list[PolicyChoice]:
    """Return the chosen policies of the gateway, and the baseline proxies that replace the gateway.
    If only proxies are named, only proxies run. A proxy in the spec keeps its parameters from the
    spec.
    """
    if gateways is None:
        return _chosen(spec, names)
    known = ["doorbuster", *PROXIES]
    if unknown := [name for name in gateways if name not in known]:
        raise SpecError("--gateway", f"{unknown[0]!r} is unknown", allowed=", ".join(known))
    chosen = [] if names is None else _chosen(spec, names)
    if names is None and "doorbuster" in gateways:
        chosen = [choice for choice in spec.policy if choice.gateway is None]
    for name in dict.fromkeys(gateways):
        if name in PROXIES:
            own = [choice for choice in spec.policy if choice.gateway == name]
            wanted = own or [PolicyChoice.model_validate({"gateway": name})]
            chosen += [choice for choice in wanted if choice not in chosen]
    return chosen


def _chosen(spec: Spec, names: Sequence[str] | None) -> list[PolicyChoice]:
    """Return the choices with these names. A choice in the spec keeps its parameters from the spec.
    Other choices have default parameters.
    """
    if names is None:
        return list(spec.policy)
    chosen: list[PolicyChoice] = []
    for name in _whole(names, [choice.key for choice in spec.policy]):
        known = [choice for choice in spec.policy if choice.key == name]
        known = known or [choice for choice in spec.policy if choice.name == name]
        if not known and name in PROXIES:
            raise SpecError("--policies", f"{name} is a baseline proxy; give --gateway {name}")
        if not known and name not in POLICIES and not is_path(name):
            allowed = dict.fromkeys([*(choice.key for choice in spec.policy), *POLICIES])
            raise SpecError(
                "--policies",
                f"{name!r} is unknown",
                allowed=f"{', '.join(allowed)}, or the path of your policy, own/….py",
            )
        chosen += known or [_choice(name=name, admission=spec.admission)]
    return chosen


def _whole(names: Sequence[str], keys: Sequence[str]) -> Iterator[str]:
    """Yield the names after joining the parts of each label that contains a comma, such as
    `HAProxy, tuned`. `keys` has the labels of the spec.
    """
    left = list(names)
    while left:
        lengths = range(len(left), 1, -1)
        size = next((n for n in lengths if ", ".join(left[:n]) in keys), 1)
        yield ", ".join(left[:size])
        del left[:size]


def _choice(**fields: Any) -> PolicyChoice:
    try:
        return PolicyChoice(**fields)
    except ValidationError as faults:
        raise SpecError.of(explain(faults, "--policies")) from None


def _behind(
    spec: Spec, choices: Sequence[PolicyChoice], admissions: Sequence[str]
) -> Iterator[PolicyChoice]:
    """Return each queueing policy combined with each admission policy.

    A combination that the spec contains keeps its label and abandonment. A baseline proxy has no
    admission policy, so each proxy is returned once.
    """
    if unknown := [name for name in admissions if name not in ADMISSIONS]:
        raise SpecError("--admission", f"{unknown[0]!r} is unknown", allowed=", ".join(ADMISSIONS))
    proxies = [choice for choice in choices if choice.gateway is not None]
    if proxies and NO_ADMISSION not in admissions:
        raise SpecError(
            "--admission",
            f"an admission policy needs the gateway's sessions, but {proxies[0].key} "
            f"replaces the gateway; add '{NO_ADMISSION}' to the list",
        )
    policies = (choice for choice in choices if choice.gateway is None)
    for name, parameters in _distinct((choice.name, choice.parameters) for choice in policies):
        for admission in admissions:
            wanted = _choice(name=name, parameters=parameters, admission=admission)
            alike = ("name", "parameters", "admission")
            own = (
                c for c in spec.policy if all(getattr(c, k) == getattr(wanted, k) for k in alike)
            )
            yield next(own, wanted)
    yield from proxies


def _when_left(
    choices: Sequence[PolicyChoice], abandonments: Sequence[str]
) -> Iterator[PolicyChoice]:
    """Return each choice combined with each abandonment. Equal combinations are returned once.

    Labels are removed. If choices would then have the same key, the new label of each is its old
    label and its abandonment: `mine+cancel`.
    """
    known = get_args(Abandonment)
    if unknown := [name for name in abandonments if name not in known]:
        allowed = ", ".join(known)
        raise SpecError("--abandonment", f"{unknown[0]!r} is unknown", allowed=allowed)
    found: list[tuple[PolicyChoice, str | None]] = []
    for choice in choices:
        for abandonment in abandonments:
            wanted = choice.model_copy(update={"abandonment": abandonment, "label": None})
            if all(wanted != other for other, _ in found):
                found.append((wanted, choice.label))
    named = Counter(choice.key for choice, _ in found)
    for choice, label in found:
        if label is not None and named[choice.key] > 1:
            yield choice.model_copy(update={"label": f"{label}+{choice.abandonment}"})
        else:
            yield choice


def _distinct(pairs: Iterator[tuple[str, Any]]) -> list[tuple[str, Any]]:
    found: list[tuple[str, Any]] = []
    for pair in pairs:
        if pair not in found:
            found.append(pair)
    return found

"""The search for good settings. It tries the same number of settings for every row, with the same
customers: the default setting, and a Latin hypercube over the row's parameters. The readings of
`study` define the values that are tried."""

import random
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final

from gateway.policies import PolicyError, registry
from gateway.policies.sheet import Parameter
from lab.baselines.sheets import PROXIES
from lab.errors import SpecError
from lab.intervals import Estimate, over_parts, paired
from lab.leaderboard import TUNING
from lab.leaderboard.ablation import ranked
from lab.leaderboard.board import settings_words
from lab.leaderboard.measures import EFFICIENCY, case_of, estimated
from lab.report.drawing.table import Table
from lab.report.study_figures import BuiltTable, Figure, Study
from lab.results.metrics import Results
from lab.spec.cases import Case
from lab.spec.experiment import Spec, changed
from lab.spec.runs import ShopRun
from lab.spec.sections import PolicyChoice
from lab.wording import title_of

SETTINGS: Final = 12
"""The number of settings per row, including the default."""
LOADS: Final = (1.0, 1.4, 2.0)
SESSIONS: Final = 1000
SEED: Final = 101
"""The seed of the first repetition. The boards have other seeds by default, and therefore other
customers.
"""
REPETITIONS: Final = 5
QUICK_REPETITIONS: Final = 1
FACTOR_LOG2: Final = 3.0

_SWITCHES: Final = ("switch", "0 or 1")
_UNSEARCHED: Final = ("nodelay", "seed", "retry_after_s")
"""The parameters that the search does not change. Another value of `nodelay` would need another
abandonment setting; the seed and `retry_after_s` cannot change sales."""
_TRIES: Final = 200


def searched(row: PolicyChoice) -> list[tuple[str, Parameter]]:
    """Return (section of the spec, parameter) for each parameter of a row that the search
    changes."""
    sheet = registry.sheet(row.name) if row.gateway is None else PROXIES[row.gateway].sheet
    sections = [("parameters", sheet)]
    if not row.is_pure_queueing:
        sections.append(("admission_parameters", registry.admission_sheet(row.admission)))
    return [
        (section, parameter)
        for section, sheet in sections
        for parameter in sheet.parameters
        if is_searched(parameter)
    ]


def check(setting: PolicyChoice) -> None:
    """Raise PolicyError if the setting is invalid."""
    if setting.gateway is None:
        setting.create()
    else:
        PROXIES[setting.gateway].sheet.read(setting.parameters)


def is_searched(parameter: Parameter) -> bool:
    """Return whether the search changes a parameter."""
    if isinstance(parameter.default, Mapping) or parameter.name in _UNSEARCHED:
        return False
    return parameter.unit in _SWITCHES or parameter.default != 0


def rows_of(base: Spec, proxies: Sequence[str]) -> list[PolicyChoice]:
    """Return a row for each policy of a board, except students' policies, and for each proxy. A row
    is a policy, combination or proxy with its default setting.

    Policies and proxies without parameters to search are left out. Raises SpecError if no row
    remains.
    """
    choices = map(base.choice, ranked(base))
    rows = [
        *(
            PolicyChoice(name=choice.name, admission=choice.admission)
            for choice in choices
            if choice.file is None and choice.gateway is None
        ),
        *(PolicyChoice.model_validate({"gateway": name}) for name in proxies),
    ]
    by_key = {row.key: row for row in rows}
    if not (found := [row for row in by_key.values() if searched(row)]):
        raise SpecError("--policies", f"no parameters of {', '.join(by_key)} can be searched")
    return found


def settings_of(row: PolicyChoice, number: int) -> list[PolicyChoice]:
    """Return the default and `number` − 1 other settings, which are the same on every machine. A
    policy may allow few combinations of values, so a setting is left out if all `_TRIES` draws for
    it were invalid."""
    rng = random.Random(f"tuning/{row.key}")
    parameters = searched(row)
    found = [row]
    for values in _hypercube(len(parameters), number - 1, rng):
        for _ in range(_TRIES):
            sections: dict[str, dict[str, Any]] = {"parameters": {}, "admission_parameters": {}}
            for (section, parameter), place in zip(parameters, values, strict=True):
                sections[section][parameter.name] = value_at(parameter, place)
            setting = row.model_copy(update=sections)
            try:
                check(setting)
            except PolicyError:
                (values,) = _hypercube(len(parameters), 1, rng)
                continue
            found.append(setting)
            break
    return found


def _hypercube(dimensions: int, number: int, rng: random.Random) -> list[tuple[float, ...]]:
    """Return `number` points in the unit cube. Each dimension has `number` equal parts, and there
    is one point in each part.
    """
    columns = []
    for _ in range(dimensions):
        order = list(range(number))
        rng.shuffle(order)
        columns.append([(place + rng.random()) / number for place in order])
    return list(zip(*columns, strict=True))


def value_at(parameter: Parameter, place: float) -> int | float:
    """Return the value of a parameter at a position in its range; the position is a number from 0
    to 1.
    """
    default = parameter.default
    assert not isinstance(default, Mapping)
    if parameter.unit in _SWITCHES:
        return int(place >= 0.5)
    value = default * 2.0 ** (FACTOR_LOG2 * (2.0 * place - 1.0))
    value = min(parameter.high, max(parameter.low, value))
    return round(value) if isinstance(default, int) else float(f"{value:.3g}")


@dataclass(frozen=True, slots=True)
class Tried:
    """A setting of a row with a case for each load."""

    setting: PolicyChoice
    cases: Mapping[float, Case[ShopRun]]

    def efficiency(self, results: Results) -> list[dict[int, float]]:
        """Return the estimated efficiency by load and seed, from the simulations that exist so
        far."""
        return [results.by_seed(self.cases[rho], estimated) for rho in LOADS]

    def overall(self, results: Results) -> Estimate | None:
        """Return the mean over the loads, or None if there are no simulations yet."""
        parts = self.efficiency(results)
        return over_parts(parts) if any(parts) else None


def study(base: Spec, *, proxies: Sequence[str] = tuple(PROXIES)) -> Study:
    """Return the study that searches for settings of the policies in the leaderboard's spec `base`,
    and of the models of `proxies`.
    """
    # A spec cannot simulate a proxy, so the setting replaces a placeholder.
    placeholders = {
        rho: case_of(
            changed(
                base,
                leaderboard=False,
                policy=[{"name": "sq"}],
                load={"rho": [rho], "sessions": SESSIONS},
            ),
            "sq",
            EFFICIENCY,
        )
        for rho in LOADS
    }
    tried = [
        [
            Tried(setting, {rho: case.with_(policy=setting) for rho, case in placeholders.items()})
            for setting in settings_of(row, SETTINGS)
        ]
        for row in rows_of(base, proxies)
    ]
    cases = [case for of_row in tried for one in of_row for case in one.cases.values()]
    return Study(
        TUNING,
        "Tuning: the best settings of each policy",
        (
            f"The search tries {SETTINGS} settings of each row, including the default, with the "
            f"same customers at ρ = {', '.join(f'{rho:g}' for rho in LOADS)} ({SESSIONS:,} "
            f"sessions per run, {base.repetitions} seeds beginning with {SEED}). The best setting "
            "over all loads becomes the tuned setting.",
        ),
        [
            Figure(
                "tuning",
                "The best setting found",
                "The efficiency over all loads, with the default and with the best setting of each "
                "row.",
                tables=[BuiltTable(cases, lambda results: best_table(tried, results))],
            ),
            Figure(
                "settings",
                "Every setting that was tried",
                "All settings of each row, beginning with the best.",
                tables=[BuiltTable(cases, lambda results: all_table(tried, results))],
            ),
        ],
        [],
        [
            (
                "Settings",
                "The first setting of a row is its default. The other settings are a Latin "
                "hypercube over the row's parameters. Each number is its default times 2 to the "
                "power of u, with u spread evenly from −3 to 3, within the allowed range. Switches "
                "are on or off. The search does not change these parameters: numbers "
                "whose default is 0, tables by page type, seeds, retry_after_s, and nginx's "
                "nodelay.",
            ),
            (
                "HAProxy and nginx",
                "The simulator runs models of these proxies, with their queues, limits and "
                "timeouts, and with the queue in the shop.",
            ),
            (
                "Chance",
                "The best of several settings looks better than it is, because chance helped to "
                "choose it. A leaderboard therefore runs the tuned rows with other seeds.",
            ),
        ],
        folder=TUNING,
        readings_heading="The search",
    )


def _known(tried: Sequence[Tried], results: Results) -> Iterator[tuple[Estimate, Tried]]:
    for one in tried:
        found = one.overall(results)
        if found is not None:
            yield found, one


def best_of(tried: Sequence[Tried], results: Results) -> tuple[Estimate, Tried] | None:
    """Return the setting with the highest mean over all loads, or None if there are no simulations
    yet."""
    return max(_known(tried, results), key=lambda found: found[0].mean, default=None)


def _words(setting: PolicyChoice) -> str:
    return settings_words(setting) or "the defaults"


def best_table(rows: Sequence[Sequence[Tried]], results: Results) -> Table:
    """Return a table with the default, the best setting and the gain of each row."""
    made = Table(
        "The best setting found",
        ("Row", "Parameters", "Settings", "Default", "Best", "Gain", "Best setting"),
        note="“Default” and “Best” are the mean estimated efficiency over the loads ± half-width "
        "of the 95 % interval. “Gain” is the efficiency with the best setting minus the efficiency "
        "with the default, in pairs of runs with the same seed. “Parameters” is the number of "
        "parameters that the search changes.",
    )
    lines = []
    for tried in rows:
        default, best = tried[0], best_of(tried, results)
        if best is None:
            continue
        gain = paired(best[1].efficiency(results), default.efficiency(results))
        before = default.overall(results)
        lines.append(
            (
                title_of(default.setting.key),
                str(len(searched(default.setting))),
                str(len(tried)),
                before.text(2) if before else "–",
                best[0].text(2),
                "–" if best[1] is default or gain is None else gain.text(2),
                _words(best[1].setting),
                best[0].mean,
            )
        )
    made.rows.extend([line[:-1] for line in sorted(lines, key=lambda line: -line[-1])])
    return made


def all_table(rows: Sequence[Sequence[Tried]], results: Results) -> Table:
    """Return a table with a line for each setting."""
    made = Table(
        "Every setting that was tried",
        ("Row", *(f"ρ = {rho:g}" for rho in LOADS), "All loads", "Setting"),
        note="Each value is the mean of the estimated efficiency over the seeds.",
    )
    for tried in rows:
        for overall, one in sorted(_known(tried, results), key=lambda found: -found[0].mean):
            loads = (over_parts([part]).mean if part else None for part in one.efficiency(results))
            made.rows.append(
                (
                    title_of(one.setting.key),
                    *("–" if mean is None else f"{mean:.2f}" for mean in loads),
                    f"{overall.mean:.3f}",
                    _words(one.setting),
                )
            )
    return made

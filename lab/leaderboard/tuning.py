"""The search for good settings. It tries the same number of settings for every row, with the same
customers: the default setting, and a Latin hypercube over the row's parameters. The readings of
`study` define the values that are tried."""

import random
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final

from gateway.policies import NO_ADMISSION, PolicyError, registry
from gateway.policies.sheet import Parameter, Sheet
from lab.baselines.sheets import PROXIES
from lab.errors import SpecError
from lab.intervals import Estimate, over_parts, paired
from lab.leaderboard import TUNING
from lab.leaderboard.ablation import ranked
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


@dataclass(frozen=True, slots=True)
class Setting:
    """A setting of a row."""

    parameters: Mapping[str, Any]
    """The parameters of the policy or proxy."""
    admission_parameters: Mapping[str, Any]

    @property
    def words(self) -> str:
        """The setting as text for tables."""
        both = {**self.parameters, **self.admission_parameters}
        return ", ".join(f"{name} {value:g}" for name, value in both.items()) or "the defaults"


@dataclass(frozen=True, slots=True)
class Row:
    """A policy, combination or proxy for which the search tries settings."""

    key: str
    name: str
    """The name of the queueing policy or proxy."""
    admission: str
    sheet: Sheet
    admission_sheet: Sheet | None

    @property
    def is_proxy(self) -> bool:
        """Whether a model of HAProxy or nginx is simulated."""
        return self.name in PROXIES

    def searched(self) -> list[tuple[str, Parameter]]:
        """Return (section of the spec, parameter) for each parameter that the search changes."""
        sections = [("parameters", self.sheet)]
        if self.admission_sheet is not None:
            sections.append(("admission_parameters", self.admission_sheet))
        return [
            (section, parameter)
            for section, sheet in sections
            for parameter in sheet.parameters
            if is_searched(parameter)
        ]

    def choice(self, setting: Setting) -> dict[str, Any]:
        """Return the entry `[[policy]]` of a spec; SQ is the placeholder for a proxy's model."""
        if self.is_proxy:
            return {"name": "sq"}
        return {
            "name": self.name,
            "admission": self.admission,
            "parameters": dict(setting.parameters),
            "admission_parameters": dict(setting.admission_parameters),
        }

    def check(self, setting: Setting) -> None:
        """Raise PolicyError if the setting is invalid."""
        if self.is_proxy:
            PROXIES[self.name].sheet.read(setting.parameters)
        else:
            registry.create(
                self.name, setting.parameters, self.admission, setting.admission_parameters
            )


def is_searched(parameter: Parameter) -> bool:
    """Return whether the search changes a parameter."""
    if isinstance(parameter.default, Mapping) or parameter.name in _UNSEARCHED:
        return False
    return parameter.unit in _SWITCHES or parameter.default != 0


def rows_of(base: Spec, proxies: Sequence[str]) -> list[Row]:
    """Return a row for each policy of a board, except students' policies, and for each proxy.

    Policies and proxies without parameters to search are left out. Raises SpecError if no row
    remains.
    """
    found: dict[tuple[str, str], Row] = {}
    for key in ranked(base):
        choice = base.choice(key)
        if choice.file is None and choice.gateway is None:
            admission = None if choice.is_pure_queueing else choice.admission
            found.setdefault(
                (choice.name, choice.admission),
                Row(
                    "+".join(filter(None, (choice.name, admission))),
                    choice.name,
                    choice.admission,
                    registry.sheet(choice.name),
                    registry.admission_sheet(admission) if admission else None,
                ),
            )
    rows = [*found.values()]
    rows += [Row(name, name, NO_ADMISSION, PROXIES[name].sheet, None) for name in proxies]
    if not (searched := [row for row in rows if row.searched()]):
        names = ", ".join(row.key for row in rows)
        raise SpecError(f"--policies: no parameters of {names} can be searched")
    return searched


def settings_of(row: Row, number: int) -> list[Setting]:
    """Return the default and `number` − 1 other settings, which are the same on every machine. A
    policy may allow few combinations of values, so a setting is left out if all `_TRIES` draws for
    it were invalid."""
    rng = random.Random(f"tuning/{row.key}")
    drawn = _hypercube(row.searched(), number - 1, rng)
    found = [Setting({}, {})]
    for values in drawn:
        for _ in range(_TRIES):
            setting = _setting(row, values)
            try:
                row.check(setting)
            except PolicyError:
                (values,) = _hypercube(row.searched(), 1, rng)
                continue
            found.append(setting)
            break
    return found


def _hypercube(
    searched: Sequence[tuple[str, Parameter]], number: int, rng: random.Random
) -> list[list[float]]:
    """Return `number` points in the unit cube. Each dimension has `number` equal parts, and there
    is one point in each part.
    """
    columns = []
    for _ in searched:
        order = list(range(number))
        rng.shuffle(order)
        columns.append([(place + rng.random()) / number for place in order])
    return [list(point) for point in zip(*columns, strict=True)]


def _setting(row: Row, point: Sequence[float]) -> Setting:
    sections: dict[str, dict[str, Any]] = {"parameters": {}, "admission_parameters": {}}
    for (section, parameter), place in zip(row.searched(), point, strict=True):
        sections[section][parameter.name] = value_at(parameter, place)
    return Setting(sections["parameters"], sections["admission_parameters"])


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
    """A setting with a case for each load."""

    row: Row
    setting: Setting
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
    tried = [
        [_tried(base, row, setting) for setting in settings_of(row, SETTINGS)]
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


def _tried(base: Spec, row: Row, setting: Setting) -> Tried:
    cases = {}
    for rho in LOADS:
        spec = changed(
            base,
            leaderboard=False,
            policy=[row.choice(setting)],
            load={"rho": [rho], "sessions": SESSIONS},
        )
        case = case_of(spec, spec.policy[0].key, EFFICIENCY)
        if row.is_proxy:  # a spec cannot simulate a proxy, so replace the placeholder
            model = PolicyChoice.model_validate(
                {"gateway": row.name, "parameters": dict(setting.parameters)}
            )
            case = case.with_(policy=model)
        cases[rho] = case
    return Tried(row, setting, cases)


def _known(tried: Sequence[Tried], results: Results) -> Iterator[tuple[Estimate, Tried]]:
    for one in tried:
        found = one.overall(results)
        if found is not None:
            yield found, one


def best_of(tried: Sequence[Tried], results: Results) -> tuple[Estimate, Tried] | None:
    """Return the setting with the highest mean over all loads, or None if there are no simulations
    yet."""
    return max(_known(tried, results), key=lambda found: found[0].mean, default=None)


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
                title_of(default.row.key),
                str(len(default.row.searched())),
                str(len(tried)),
                before.text(2) if before else "–",
                best[0].text(2),
                "–" if best[1] is default or gain is None else gain.text(2),
                best[1].setting.words,
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
                    title_of(one.row.key),
                    *("–" if mean is None else f"{mean:.2f}" for mean in loads),
                    f"{overall.mean:.3f}",
                    one.setting.words,
                )
            )
    return made

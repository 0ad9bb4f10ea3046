"""The session model of LIFO-Pri: who comes when, walks where, and waits how long.

Owns: the Markov chain of Fig. 1, the walks drawn from it by quota or by chance, Poisson arrivals,
patience and retries. Pure: standard library only, no clock, no I/O; load generator and simulator
use this same module.
Must not know: HTTP, Locust, policies, time scales. All times are paper seconds.

Source: Singhmar, Mathur, Apte, Manjunath, *A Combined LIFO-Priority Scheme for Overload Control of
E-commerce Web Servers*, section 3.2. The transition probabilities are not printed there; they
follow from Tables 3 and 4 (docs/loadgen.md shows the working).
"""

import math
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, fields
from fractions import Fraction
from random import Random
from types import MappingProxyType
from typing import Literal, get_args

PAGES: tuple[str, ...] = ("Br-1", "Br-2", "Br-3", "Br-4", "Tr-1", "Tr-2", "Tr-3", "Tr-4")
"""The eight page types, section 3.2.1, in the order of the chain."""

FIRST_PAGE = "Br-1"
CONFIRM_PAGE = "Tr-4"

LIFO_PRI_TRANSITIONS: Mapping[str, Mapping[str, float]] = MappingProxyType(
    {
        "Br-1": {"Br-2": 0.4, "Br-3": 0.5},
        "Br-2": {"Br-4": 0.3},
        "Br-3": {"Br-4": 0.5},
        "Br-4": {"Tr-1": 0.1},
        "Tr-1": {"Tr-2": 0.9},
        "Tr-2": {"Tr-3": 0.9},
        "Tr-3": {"Tr-4": 0.9},
    }
)
"""Fig. 1; what is left over at each page is the exit."""

MEAN_EXECUTION_S: Mapping[str, float] = MappingProxyType(
    {
        "Br-1": 0.200,
        "Br-2": 0.300,
        "Br-3": 0.300,
        "Br-4": 0.222,
        "Tr-1": 0.280,
        "Tr-2": 0.420,
        "Tr-3": 0.500,
        "Tr-4": 0.300,
    }
)
"""Table 2: mean execution times, waits included."""

LONGEST_WALK = 4096
"""A walk is cut here; only a chain that all but never exits gets that far."""

LARGEST_MAX_RETRIES = 200

WalkDrawing = Literal["quota", "chance"]


class SessionModelError(ValueError):
    """A value the model refuses; `field` names it."""

    def __init__(self, field: str, message: str) -> None:
        super().__init__(f"{field}: {message}")
        self.field = field


@dataclass(frozen=True, slots=True)
class Chain:
    """A Markov chain over the page types; a session starts at `Br-1` and ends at the exit.

    `transitions[page][following]` is a probability; what is left over to 1 is the exit.
    Raises `SessionModelError` for an unknown page, a probability outside [0, 1], a page whose
    probabilities add up to more than 1, and a page from which no session ever exits.
    """

    transitions: Mapping[str, Mapping[str, float]] = field(
        default_factory=lambda: LIFO_PRI_TRANSITIONS
    )

    def __post_init__(self) -> None:
        for page, row in self.transitions.items():
            _require_page("transitions", page)
            for following, probability in row.items():
                _require_page(f"transitions.{page}", following)
                if not 0 <= probability <= 1:
                    raise SessionModelError(
                        f"transitions.{page}.{following}",
                        f"{probability} is no probability; give a number from 0 to 1",
                    )
            total = sum(_exact(probability) for probability in row.values())
            if total > 1:
                raise SessionModelError(
                    f"transitions.{page}",
                    f"probabilities add up to {float(total):g}; give at most 1, the rest exits",
                )
        exiting = self._pages_that_exit()
        for page in PAGES:
            if page not in exiting:
                raise SessionModelError(
                    f"transitions.{page}", "no session ever exits from here; leave some to the exit"
                )

    def row(self, page: str) -> Mapping[str, float]:
        """Where `page` leads, without the exit."""
        return self.transitions.get(page, {})

    def visits(self) -> dict[str, float]:
        """Expected requests of each page type per session, if every request succeeds."""
        return {page: float(count) for page, count in _solve(self._flow_in(), FIRST_PAGE).items()}

    def mean_requests(self) -> float:
        """Expected requests per session, if every request succeeds (2.397 for LIFO-Pri)."""
        return sum(self.visits().values())

    def mean_execution_s(self, execution_s: Mapping[str, float] = MEAN_EXECUTION_S) -> float:
        """Mean execution time of a request, paper seconds (0.2501 for LIFO-Pri and Table 2)."""
        visits = self.visits()
        total = sum(count * execution_s[page] for page, count in visits.items())
        return total / sum(visits.values())

    def probability_of_confirm(self, page: str) -> float:
        """Probability that a session now at `page` reaches Tr-4 (Table 3 is proportional to it)."""
        _require_page("page", page)
        flow = {
            origin: {
                following: _exact(probability)
                for following, probability in self.row(origin).items()
                if origin != CONFIRM_PAGE
            }
            for origin in PAGES
        }
        # P(page) = sum over following of p * P(following), P(Tr-4) = 1: the same linear system,
        # read against the arrows.
        return float(_solve(flow, CONFIRM_PAGE)[page])

    def walk_at(self, place: Fraction | float) -> tuple[str, ...]:
        """The walk at `place` in [0, 1), all walks side by side and as wide as they are likely.

        A uniform random place gives a random walk; evenly spaced places give a quota sample.
        """
        exact = isinstance(place, Fraction)
        page = FIRST_PAGE
        walk = [page]
        while len(walk) < LONGEST_WALK:
            for following, probability in self.row(page).items():
                width = _exact(probability) if exact else probability
                if place < width:
                    place = place / width
                    page = following
                    walk.append(page)
                    break
                place = place - width
            else:
                break
        return tuple(walk)

    def quota_file(self, sessions: int, rng: Random) -> tuple[tuple[str, ...], ...]:
        """`sessions` walks, as many of each as the chain says, shuffled by `rng`.

        Every beginning of a walk occurs within one of its expected number. With 1000 sessions and
        LIFO-Pri's chain: 400 Br-2, 500 Br-3, 370 Br-4 and 37, 33, 30, 27 of Tr-1 to Tr-4, the
        counts of Table 4 divided by 24. The paper's own file matches its chain exactly, which
        independent draws do with a probability of about 2e-5.
        """
        walks = [self.walk_at(Fraction(2 * i + 1, 2 * sessions)) for i in range(sessions)]
        rng.shuffle(walks)
        return tuple(walks)

    def _flow_in(self) -> dict[str, dict[str, Fraction]]:
        flow: dict[str, dict[str, Fraction]] = {page: {} for page in PAGES}
        for origin, row in self.transitions.items():
            for following, probability in row.items():
                flow[following][origin] = _exact(probability)
        return flow

    def _pages_that_exit(self) -> set[str]:
        exiting: set[str] = set()
        grew = True
        while grew:
            grew = False
            for page in PAGES:
                if page in exiting:
                    continue
                row = self.row(page)
                leaves = sum(_exact(probability) for probability in row.values()) < 1
                if leaves or any(p > 0 and following in exiting for following, p in row.items()):
                    exiting.add(page)
                    grew = True
        return exiting


@dataclass(frozen=True, slots=True)
class SessionModel:
    """How customers behave. Paper seconds; defaults are LIFO-Pri's, section 3.2.1.

    Raises `SessionModelError`, naming the field, for values outside the ranges given here.
    """

    chain: Chain = field(default_factory=Chain)
    """Fig. 1."""
    timeout_s: float = 8.0
    """httperf's `--timeout`: what every patience has in common; `inf`: nobody ever leaves."""
    think_timeout_mean_s: float = 12.0
    """httperf's `--think-timeout`, exponential; added to `timeout_s`."""
    retry_probability: float = 0.4
    """p: a timed-out request is sent again with this probability."""
    max_retries: int = 5
    """M: at most this many retries per request, 0 to 200."""
    think_time_mean_s: float = 0.0
    """Exponential pause before each page but the first; LIFO-Pri has none."""
    walks: WalkDrawing = "quota"
    """`quota`: a file of `file_sessions` walks, cycled, as the paper did; `chance`: independent."""
    file_sessions: int = 1000
    """Length of the session file."""

    def __post_init__(self) -> None:
        for name in ("timeout_s", "think_timeout_mean_s", "think_time_mean_s"):
            value = getattr(self, name)
            if math.isnan(value) or value < 0:
                raise SessionModelError(name, f"{value} is no duration; give 0 or more seconds")
        if math.isinf(self.think_time_mean_s):
            raise SessionModelError("think_time_mean_s", "give a finite number of seconds")
        if not 0 <= self.retry_probability <= 1:
            raise SessionModelError(
                "retry_probability", f"{self.retry_probability} is no probability; give 0 to 1"
            )
        if not 0 <= self.max_retries <= LARGEST_MAX_RETRIES:
            raise SessionModelError(
                "max_retries",
                f"{self.max_retries} is out of range; give 0 to {LARGEST_MAX_RETRIES}",
            )
        if self.walks not in get_args(WalkDrawing):
            raise SessionModelError("walks", f"{self.walks!r} is unknown; give quota or chance")
        if self.file_sessions < 1:
            raise SessionModelError("file_sessions", f"{self.file_sessions}: give 1 or more")

    def parameters(self) -> dict[str, object]:
        """All parameters by name, JSON-ready; an endless patience is the text `inf`."""
        found: dict[str, object] = {
            "transitions": {page: dict(row) for page, row in self.chain.transitions.items()}
        }
        for entry in fields(self):
            if entry.name != "chain":
                value = getattr(self, entry.name)
                found[entry.name] = "inf" if value == math.inf else value
        return found

    def session_rate(self, rho: float, capacity_rps: float) -> float:
        """Sessions per paper second that offer load ρ to a server of `capacity_rps` requests/s.

        λ = ρ × capacity / mean requests per session: the load if every session completed.
        """
        _require_positive("rho", rho)
        _require_positive("capacity_rps", capacity_rps)
        return rho * capacity_rps / self.chain.mean_requests()

    def rho(self, session_rate: float, capacity_rps: float) -> float:
        """The offered load ρ of `session_rate` sessions/s on a server of `capacity_rps`."""
        _require_positive("capacity_rps", capacity_rps)
        return session_rate * self.chain.mean_requests() / capacity_rps


_MASK = (1 << 64) - 1
_GAMMA = 0x9E3779B97F4A7C15
_STEP_BITS = 12
_ATTEMPT_BITS = 8


class Customers:
    """The customers of one seed: the same ones in every run, whatever happens to them.

    Each concern (arrivals, walks, patience, retries, think times) has a random stream of its own,
    and a draw is addressed by session, step and attempt instead of by what was drawn before it. So
    two policies meet the same customers: the second attempt of session 7 at its third page has one
    patience, whether or not the first page took retries. Draws are made when asked for and nothing
    is kept, but for the session file.

    The streams are SplitMix64 (Steele, Lea, Flood, OOPSLA 2014), addressed by position: 0.3 µs a
    draw, where a `random.Random` per session costs ten times that. `Random` keys the streams and
    shuffles the file.
    """

    __slots__ = (
        "_arrival_key",
        "_file",
        "_patience_key",
        "_retry_key",
        "_think_key",
        "_walk_key",
        "model",
        "seed",
        "session_rate",
    )

    def __init__(self, model: SessionModel, seed: int, session_rate: float) -> None:
        """`session_rate` is in sessions per paper second; must be positive."""
        _require_positive("session_rate", session_rate)
        self.model = model
        self.seed = seed
        self.session_rate = session_rate
        self._arrival_key = _key(seed, "arrivals")
        self._walk_key = _key(seed, "walks")
        self._patience_key = _key(seed, "patience")
        self._retry_key = _key(seed, "retries")
        self._think_key = _key(seed, "think times")
        self._file: tuple[tuple[str, ...], ...] = ()
        if model.walks == "quota":
            file_rng = Random(f"{seed}/session file")
            self._file = model.chain.quota_file(model.file_sessions, file_rng)

    def arrivals(self) -> Iterator[float]:
        """Poisson arrivals without end: times in paper seconds since the start, session 0 first."""
        time_s = 0.0
        session = 0
        mean_gap_s = 1 / self.session_rate
        while True:
            time_s += _exponential(_uniform(self._arrival_key, session), mean_gap_s)
            yield time_s
            session += 1

    def walk(self, session: int) -> tuple[str, ...]:
        """The pages session `session` (from 0) asks for if all goes well."""
        if self._file:
            return self._file[session % len(self._file)]
        return self.model.chain.walk_at(_uniform(self._walk_key, session))

    def patience_s(self, session: int, step: int, attempt: int) -> float:
        """How long this attempt waits before it is abandoned; steps from 0, attempts from 1."""
        model = self.model
        if model.think_timeout_mean_s == 0 or math.isinf(model.timeout_s):
            return model.timeout_s
        draw = _uniform(self._patience_key, _address(session, step, attempt))
        return model.timeout_s + _exponential(draw, model.think_timeout_mean_s)

    def retries(self, session: int, step: int, attempt: int) -> bool:
        """Whether the customer, when attempt `attempt` (from 1) times out, sends another."""
        if attempt > self.model.max_retries:
            return False
        draw = _uniform(self._retry_key, _address(session, step, attempt))
        return draw < self.model.retry_probability

    def think_time_s(self, session: int, step: int) -> float:
        """The pause before step `step`; none before the first."""
        mean_s = self.model.think_time_mean_s
        if step == 0 or mean_s == 0:
            return 0.0
        return _exponential(_uniform(self._think_key, _address(session, step, 0)), mean_s)


def _key(seed: int, concern: str) -> int:
    return Random(f"{seed}/{concern}").getrandbits(64)


def _address(session: int, step: int, attempt: int) -> int:
    return ((session << _STEP_BITS | step) << _ATTEMPT_BITS) | attempt


def _uniform(key: int, position: int) -> float:
    """The number at `position` of the SplitMix64 stream `key`, uniform in [0, 1)."""
    z = (key + position * _GAMMA) & _MASK
    z = ((z ^ (z >> 30)) * 0xBF58476D1CE4E5B9) & _MASK
    z = ((z ^ (z >> 27)) * 0x94D049BB133111EB) & _MASK
    return ((z ^ (z >> 31)) >> 11) * 2.0**-53


def _exponential(uniform: float, mean: float) -> float:
    return -math.log1p(-uniform) * mean


def _exact(probability: float) -> Fraction:
    """The decimal a person wrote, not the nearest binary number."""
    return Fraction(str(probability))


def _solve(inflow: Mapping[str, Mapping[str, Fraction]], source: str) -> dict[str, Fraction]:
    """x[page] = (1 if page is source) + Σ inflow[page][other] × x[other], by elimination."""
    pages = PAGES
    rows = [
        [Fraction(int(page == other)) - inflow[page].get(other, Fraction(0)) for other in pages]
        + [Fraction(int(page == source))]
        for page in pages
    ]
    for i in range(len(pages)):
        pivot = next((r for r in range(i, len(pages)) if rows[r][i] != 0), None)
        if pivot is None:
            raise SessionModelError(f"transitions.{pages[i]}", "no session ever exits from here")
        rows[i], rows[pivot] = rows[pivot], rows[i]
        head = rows[i][i]
        rows[i] = [value / head for value in rows[i]]
        for r in range(len(pages)):
            if r != i and rows[r][i] != 0:
                factor = rows[r][i]
                rows[r] = [a - factor * b for a, b in zip(rows[r], rows[i], strict=True)]
    return {page: rows[i][-1] for i, page in enumerate(pages)}


def _require_page(field: str, page: str) -> None:
    if page not in PAGES:
        raise SessionModelError(field, f"unknown page {page!r}; pages are {', '.join(PAGES)}")


def _require_positive(field: str, value: float) -> None:
    if not (value > 0 and math.isfinite(value)):
        raise SessionModelError(field, f"{value}: give a number above 0")

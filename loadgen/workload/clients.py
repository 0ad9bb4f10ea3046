"""The closed loop of the Connection Sentry, whose clients' requests do not depend on the answers.

The parameters and a seed determine the clients: their requests, think times, patience, and
reactions after the end of a patience. The module uses only the standard library. All times are
paper seconds.

Source: Kraemer, Paixão, Guedes, Meira, Almeida, *Minimizing the Impact of Orphan Requests in
e-Commerce Services*, section 4.2. The control set never cancels, and its requests are measured; the
test set cancels when its patience ends. The paper's Surge processes replay a trace; here, each
request is drawn independently from the shares of the request classes. The paper gives neither the
distributions of patience and think times nor the clients' reaction after a cancelled request, so
this project chose them.
"""

import math
from bisect import bisect_right
from collections.abc import Mapping
from dataclasses import dataclass, field, fields
from itertools import accumulate
from types import MappingProxyType
from typing import Any, Literal, NamedTuple

from loadgen import defaults
from loadgen.workload.draws import exponential, stream_key, uniform
from loadgen.workload.refusals import (
    SessionModelError,
    require_duration,
    require_positive,
    require_probability,
    require_range,
)

ClientSet = Literal["control", "test"]

KIND_PAGE: Mapping[str, str] = MappingProxyType(
    {"home": "Br-1", "browse": "Br-2", "search": "Br-3", "select": "Br-4", "file": "file"}
)
"""The page type of each of the paper's request classes; `file` is not one of the eight
page types.
"""

MOST_PER_SET = 1000
MOST_STEPS = 20_000
"""The maximum expected number of a client's requests in a run. The actual number can be larger; a
log can hold 32,767 requests per client.
"""
MOST_RELOADS = 200
"""After this number of reloads of one request, a client goes away. With a reload probability of
0.75, this happens with a probability of 1e-25.
"""

_STEP_BITS = 15
_ATTEMPT_BITS = 8


@dataclass(frozen=True, slots=True)
class ClientModel:
    """The parameters of the clients' behaviour.

    Durations are paper seconds. Raises `SessionModelError`, which names the field, for values out
    of range.
    """

    per_set: int = defaults.CONNECTION_SENTRY_PER_SET
    """The number of clients in each of the two sets, 1 to 1000."""
    patience_max_s: float = defaults.CONNECTION_SENTRY_PATIENCE_MAX_S
    """The patience of the test set is uniform in (0, max]; the control set never leaves."""
    think_time_mean_s: float = defaults.CONNECTION_SENTRY_THINK_TIME_MEAN_S
    """The mean of the exponential pause before each request, above 0.

    Before a client's first request, the pause is uniform between 0 and this value, so that the
    clients do not all begin together.
    """
    reload_probability: float = defaults.CONNECTION_SENTRY_RELOAD_PROBABILITY
    """The probability that a client that has left reloads immediately instead of going away."""
    away_mean_s: float = defaults.CONNECTION_SENTRY_AWAY_MEAN_S
    """The mean of the exponential time for which a client stays away before its next think time."""
    mix: Mapping[str, float] = field(default_factory=lambda: defaults.CONNECTION_SENTRY_MIX)
    """The weights of the kinds of requests (`KIND_PAGE`), at least 0; a kind without a weight is
    never requested.
    """

    def __post_init__(self) -> None:
        require_range("per_set", self.per_set, 1, MOST_PER_SET)
        require_positive("patience_max_s", self.patience_max_s)
        require_positive("think_time_mean_s", self.think_time_mean_s)
        require_probability("reload_probability", self.reload_probability)
        require_duration("away_mean_s", self.away_mean_s)
        # A copy in a fixed order, so that the order of the given weights does not change the draws.
        object.__setattr__(self, "mix", _checked_mix(self.mix))

    def parameters(self) -> dict[str, object]:
        """Return all parameters by name, ready for JSON."""
        return {entry.name: getattr(self, entry.name) for entry in fields(self)} | {
            "mix": dict(self.mix)
        }

    @classmethod
    def of_parameters(cls, given: Mapping[str, Any]) -> "ClientModel":
        return cls(**given)

    def shares(self) -> dict[str, float]:
        """Return the share of each kind of request; the shares add up to 1."""
        total = math.fsum(self.mix.values())
        return {kind: weight / total for kind, weight in self.mix.items() if weight}

    def require_duration(self, duration_s: float) -> None:
        """Raise `SessionModelError` if a run of this many paper seconds is too long for the log."""
        require_positive("duration_s", duration_s)
        longest_s = MOST_STEPS * self.think_time_mean_s
        if duration_s > longest_s:
            raise SessionModelError(
                "duration_s",
                f"{duration_s:g}: with a think time of {self.think_time_mean_s:g} s, give at most "
                f"{longest_s:g} s",
            )


class Turn(NamedTuple):
    """A client's next action: a pause, then a request."""

    step: int
    """The number of the client's request, from 0."""
    attempt: int
    """The number of the attempt, from 1; every attempt after the first is a reload."""
    pause_s: float
    """The pause since the previous request ended, or since the run's start; 0 for a reload."""


class Clients:
    """The clients of one seed, which are the same in every run, regardless of the answers.

    Clients 0 … `per_set` − 1 form the control set, and all others the test set. Each kind of draw
    has a separate random stream, addressed by client, step and attempt. For example, the second
    attempt of client 12 at its fifth request has the same patience in every run.
    """

    def __init__(self, model: ClientModel, seed: int) -> None:
        self.model = model
        self.count = 2 * model.per_set
        """The number of clients in both sets."""
        self._kind_key = stream_key(seed, "client kinds")
        self._think_key = stream_key(seed, "client think times")
        self._patience_key = stream_key(seed, "client patience")
        self._reload_key = stream_key(seed, "client reloads")
        self._away_key = stream_key(seed, "client absences")
        # Kinds without weight are left out of the bounds, so that no draw can select them.
        self._kinds = tuple(model.shares())
        self._bounds = tuple(accumulate(model.shares().values()))[:-1]

    def set_of(self, client: int) -> ClientSet:
        return "control" if client < self.model.per_set else "test"

    def kind(self, client: int, step: int) -> str:
        """Return the kind, a key of `KIND_PAGE`, of the client's request number `step` (from 0)."""
        draw = uniform(self._kind_key, place(client, step))
        return self._kinds[bisect_right(self._bounds, draw)]

    def page(self, client: int, step: int) -> str:
        """Return the page type of the client's request `step` (from 0): Br-1 to Br-4, or `file`."""
        return KIND_PAGE[self.kind(client, step)]

    def think_time_s(self, client: int, step: int) -> float:
        draw = uniform(self._think_key, place(client, step))
        mean_s = self.model.think_time_mean_s
        return draw * mean_s if step == 0 else exponential(draw, mean_s)

    def patience_s(self, client: int, step: int, attempt: int) -> float:
        """Return the patience of this attempt (from 1), which is `inf` in the control set."""
        if self.set_of(client) == "control":
            return math.inf
        draw = uniform(self._patience_key, place(client, step, attempt))
        return (1 - draw) * self.model.patience_max_s

    def reloads(self, client: int, step: int, attempt: int) -> bool:
        """Return whether the client reloads the request after leaving attempt `attempt`."""
        if attempt > MOST_RELOADS:
            return False
        draw = uniform(self._reload_key, place(client, step, attempt))
        return draw < self.model.reload_probability

    def away_s(self, client: int, step: int) -> float:
        """Return how long the client stays away after it has given up request `step`."""
        draw = uniform(self._away_key, place(client, step))
        return exponential(draw, self.model.away_mean_s)

    def first(self, client: int) -> Turn:
        return Turn(0, 1, self.think_time_s(client, 0))

    def after(self, client: int, step: int, attempt: int, left: bool) -> Turn:
        """Return the turn after an ended attempt; `left` is True if the patience ended first.

        A client that left reloads the request, or goes away and then thinks about the next one.
        """
        if left and self.reloads(client, step, attempt):
            return Turn(step, attempt + 1, 0.0)
        away_s = self.away_s(client, step) if left else 0.0
        return Turn(step + 1, 1, away_s + self.think_time_s(client, step + 1))


def place(client: int, step: int, attempt: int = 0) -> int:
    """Return a different position for each draw; `step` must be below 32,768, and `attempt` below
    256.
    """
    return ((client << _STEP_BITS | step) << _ATTEMPT_BITS) | attempt


def _checked_mix(mix: Mapping[str, float]) -> dict[str, float]:
    for kind, weight in mix.items():
        if kind not in KIND_PAGE:
            raise SessionModelError(
                "mix", f"unknown kind {kind!r}; the kinds are {', '.join(KIND_PAGE)}"
            )
        if not (weight >= 0 and math.isfinite(weight)):
            raise SessionModelError(f"mix.{kind}", f"{weight} is not a weight; give 0 or more")
    if not any(mix.values()):
        raise SessionModelError(
            "mix", "no kind has a weight above 0; give at least one such weight"
        )
    return {kind: mix[kind] for kind in KIND_PAGE if kind in mix}

"""The scheduling policy of the CPU manager (ECM), which assigns processors to applications
(eDragon, section 3.1.1).

The module calculates each application's number of processors (eq. 1), and chooses the processors.
Two applications may share a processor.
"""

import math
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Final, Literal

INTERVAL_S: Final = 2.0
"""The time, in paper seconds, between two decisions of the CPU manager (k_ECM), and between two
decisions of an admission policy (k_APL; section 3.2).
"""

Provisioning = Literal["ecm", "static", "linux"]
"""The assignment of processors to applications. `ecm`: the CPU manager assigns them at every
interval. `static`: each application always has an equal share, rounded down to a multiple of 0.5.
`linux`: all applications share all processors by demand.
"""

Sharing = Literal["both", "to-high", "none"]
"""The rule about which applications may share a processor. `both`: any two applications may share
one. `to-high`: an application gives half a processor only to an application of higher priority.
`none`: no processor is shared.
"""


@dataclass(frozen=True, slots=True)
class Wish:
    """An application's request for `requested` processors (R_i), with the weight `priority`."""

    application: str
    priority: float
    requested: int


@dataclass(frozen=True, slots=True)
class Share:
    """An application's share: `whole` exclusive processors and, if there is a `partner`, half of a
    processor that the application shares with the partner.
    """

    whole: int
    partner: str | None = None

    @property
    def half(self) -> bool:
        """Whether the application has half of a shared processor."""
        return self.partner is not None

    @property
    def processors(self) -> float:
        """The number of processors A_i, a multiple of 0.5."""
        return self.whole + 0.5 * self.half


def assign(wishes: Sequence[Wish], processors: int, sharing: Sharing = "both") -> dict[str, Share]:
    """Return the share A_i of every application; the sum of the shares is at most `processors`.

    A_i is Round(P_i R_i N / Σ P_j R_j) (eq. 1), but at most R_i. P_i is `priority`, R_i is
    `requested`, and N is `processors`. If all requests together are at most N, each application
    gets R_i. An R_i above N counts as N; otherwise, a rush at one application could take another
    application's only processor.

    If rounding makes the sum too large, the application that gained most by rounding gives up a
    processor. If the sum is too small, the application that lost most gets another processor.

    Then, if `sharing` allows it, some processors are shared in halves. Two applications with equal
    priorities and requests share a processor if one of them has a processor more than the other. An
    application that got all that it requested shares a processor with an application that got less.
    An application shares at most one processor.

    The order of `wishes` decides between equal applications. Raises ValueError if a name occurs
    twice, a priority is not above 0 or is infinite, or a number of processors is negative.
    """
    _check(wishes, processors)
    whole = _whole(wishes, processors)
    partner: dict[str, str] = {}
    if sharing == "both":
        _share_between_equals(wishes, whole, partner)
    if sharing != "none":
        _share_what_is_left_over(wishes, whole, partner, sharing)
    return {
        wish.application: Share(whole[wish.application], partner.get(wish.application))
        for wish in wishes
    }


def place(
    shares: Mapping[str, Share], cpus: Sequence[int], before: Mapping[str, frozenset[int]]
) -> dict[str, frozenset[int]]:
    """Return the set of processors for each application, as similar as possible to `before`.

    Two sets overlap only in the processor that the two applications share. Raises ValueError if
    `shares` need more processors than `cpus` contains.
    """
    free = set(cpus)
    placed: dict[str, set[int]] = {name: set() for name in shares}
    pairs = {frozenset((name, share.partner)) for name, share in shares.items() if share.partner}
    needed = sum(share.whole for share in shares.values()) + len(pairs)
    if needed > len(free):
        raise ValueError(f"{needed} processors are assigned, but there are only {len(free)}")

    def had(name: str) -> set[int]:
        return set(before.get(name, ())) & free

    for one, other in sorted(tuple(sorted(str(name) for name in pair)) for pair in pairs):
        # The first choice is a processor that both applications had. The second choice is a
        # processor of the application that loses more processors.
        spare = [
            cpu
            for name in sorted((one, other), key=lambda n: shares[n].whole - len(had(n)))
            for cpu in sorted(had(name), reverse=True)
        ]
        candidates = sorted(had(one) & had(other)) or spare
        others = {cpu for name in shares if name not in (one, other) for cpu in had(name)}
        cpu = min(candidates, key=others.__contains__, default=None)
        if cpu is None:
            cpu = min(free - others or free)
        free.discard(cpu)
        placed[one].add(cpu)
        placed[other].add(cpu)
    missing = {}
    had_by = Counter(cpu for name in shares for cpu in had(name))
    for name, share in shares.items():
        # First the processors that no other application had, so that a former partner may keep the
        # shared processor.
        kept = sorted(had(name), key=lambda cpu: (had_by[cpu], cpu))[: share.whole]
        free.difference_update(kept)
        placed[name].update(kept)
        missing[name] = share.whole - len(kept)
    for name, count in missing.items():
        for cpu in sorted(free)[:count]:
            free.discard(cpu)
            placed[name].add(cpu)
    return {name: frozenset(cpus_of) for name, cpus_of in placed.items()}


def even_shares(applications: int, cpus: Sequence[int]) -> list[tuple[float, tuple[int, ...]]]:
    """Return (number of processors, CPUs) for each application if all have the same constant share.

    The number is a multiple of 0.5, and a remainder stays unused. At most two applications have the
    same CPU.
    """
    halves = 2 * len(cpus) // applications
    shares = []
    for i in range(applications):
        on = {cpus[half // 2] for half in range(i * halves, (i + 1) * halves)}
        shares.append((halves / 2, tuple(sorted(on))))
    return shares


def _check(wishes: Sequence[Wish], processors: int) -> None:
    if len({wish.application for wish in wishes}) != len(wishes):
        raise ValueError("an application occurs twice")
    if processors < 0 or any(wish.requested < 0 for wish in wishes):
        raise ValueError("numbers of processors must be at least 0")
    if not all(0 < wish.priority < math.inf for wish in wishes):
        raise ValueError("a priority must be finite and above 0")


def _whole(wishes: Sequence[Wish], processors: int) -> dict[str, int]:
    """Return each application's number of processors by eq. 1. If the sum of the requests is more
    than `processors`, the sum of the result is `processors`.
    """
    if sum(wish.requested for wish in wishes) <= processors:
        return {wish.application: wish.requested for wish in wishes}
    # Priorities are scaled to at most 1, because only their ratios count and the product must not
    # overflow.
    highest = max(wish.priority for wish in wishes if wish.requested)
    weight = {
        wish.application: wish.priority / highest * min(wish.requested, max(1, processors))
        if wish.requested
        else 0.0
        for wish in wishes
    }
    weights = sum(weight.values())
    ideal = {name: one * processors / weights for name, one in weight.items()}
    whole = {
        wish.application: min(wish.requested, math.floor(ideal[wish.application] + 0.5))
        for wish in wishes
    }
    rank = {wish.application: number for number, wish in enumerate(wishes)}
    priority = {wish.application: wish.priority for wish in wishes}
    requested = {wish.application: wish.requested for wish in wishes}

    def favoured(name: str) -> tuple[float, float, int, int]:
        return (
            round(whole[name] - ideal[name], 9),
            -priority[name],
            whole[name],
            rank[name],
        )

    while sum(whole.values()) > processors:
        whole[max((name for name in whole if whole[name]), key=favoured)] -= 1
    while sum(whole.values()) < processors:
        whole[min((name for name in whole if whole[name] < requested[name]), key=favoured)] += 1
    return whole


def _share_between_equals(
    wishes: Sequence[Wish], whole: dict[str, int], partner: dict[str, str]
) -> None:
    for wish in wishes:
        for equal in wishes:
            one, other = wish.application, equal.application
            if (
                (wish.priority, wish.requested) == (equal.priority, equal.requested)
                and whole[one] == whole[other] + 1
                and one not in partner
                and other not in partner
            ):
                _pair(one, other, whole, partner)


def _share_what_is_left_over(
    wishes: Sequence[Wish], whole: dict[str, int], partner: dict[str, str], sharing: Sharing
) -> None:
    """Let applications that got all that they requested share a processor with applications that
    got less.

    Among the applications that got less, the highest priority comes first. Among the satisfied
    applications, the lowest priority comes first.
    """
    satisfied = {wish.application: whole[wish.application] == wish.requested for wish in wishes}
    takers = sorted(
        (wish for wish in wishes if not satisfied[wish.application]),
        key=lambda wish: (-wish.priority, whole[wish.application] - wish.requested),
    )
    givers = sorted(
        (wish for wish in wishes if satisfied[wish.application] and whole[wish.application]),
        key=lambda wish: wish.priority,
    )
    for taker in takers:
        for giver in givers:
            if giver.application in partner or taker.application in partner:
                continue
            if sharing == "to-high" and giver.priority >= taker.priority:
                continue
            if any(_has_less(equal, taker, whole, partner) for equal in wishes):
                continue
            _pair(giver.application, taker.application, whole, partner)


def _has_less(
    equal: Wish, wish: Wish, whole: Mapping[str, int], partner: Mapping[str, str]
) -> bool:
    return (equal.priority, equal.requested) == (wish.priority, wish.requested) and (
        whole[equal.application] + 0.5 * (equal.application in partner)
        < whole[wish.application] + 0.5 * (wish.application in partner)
    )


def _pair(giver: str, taker: str, whole: dict[str, int], partner: dict[str, str]) -> None:
    whole[giver] -= 1
    partner[giver], partner[taker] = taker, giver

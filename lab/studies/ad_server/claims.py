"""The claims of the ad server's reproduction, from the paper and from this project."""

from collections.abc import Callable, Iterable, Sequence
from itertools import pairwise
from statistics import fmean

from lab.analysis.published import published
from lab.intervals import Estimate, differences, estimate, estimate_known
from lab.report.claims import NOTHING, Claim, Verdict, decided, is_above
from lab.results.metrics import Results, Value
from lab.spec.cases import Case
from lab.spec.runs import AdServerRun
from lab.studies.ad_server import measures
from lab.studies.ad_server.cases import (
    FEW,
    PUBLISHED_THREADS,
    Cases,
    Cell,
    clients_words,
)

ALONE_GAIN_PERCENT = 30.0
"""The gain, in percent, that a second thread should bring to a single client whose requests have 10
concepts."""
LARGEST_GAIN_PERCENT = 50 * published()["ad_server"]["claims"]["max_gain"]
"""Half of the paper's largest gain, because the reference machine has half the processors."""


def claims(cases: Cases) -> list[Claim]:
    """Return the claims of the paper and of this project. Only `_largest` and `_alone` require a
    gain of a certain size."""
    scale = cases.scale
    fewest, most, widest = min(scale.concepts), max(scale.concepts), max(scale.threads)
    three = 3 if 3 in scale.concepts else fewest
    at_limit = 3 if three == 3 and 3 in scale.threads else min(scale.threads)

    def gain(clients: int, concepts: int, threads: int) -> Figure:
        return cases.at(clients, concepts, threads), measures.gain_percent

    return [
        *(_never_slower(cases, clients) for clients in scale.clients),
        *(
            _above(
                f"The gain is smaller with {more} clients than with {fewer} (Figs. 6 and 7), mean "
                "of all cells",
                f"{fewer} above {more}",
                _gains(cases, fewer),
                _gains(cases, more),
            )
            for fewer, more in pairwise(scale.clients)
        ),
        _above(
            f"{FEW} clients, {widest} threads: the gain is larger with {most} concepts than with "
            f"{fewest}, because the number of concepts limits the gain (Fig. 6)",
            f"{most} concepts above {fewest}",
            [gain(FEW, most, widest)],
            [gain(FEW, fewest, widest)],
        ),
        _compared(
            f"{FEW} clients, {three} concepts: {widest} threads gain no more than {at_limit} "
            "threads (section V.C.3)",
            "their difference, minus the half-width of its interval, is at most 0",
            [gain(FEW, three, widest)],
            [gain(FEW, three, at_limit)],
            lambda difference: is_above(difference) is not True,
        ),
        _above(
            f"{FEW} clients, 2 threads, {most} concepts: a gain, although the paper saw none "
            f"({_WHY_TWO})",
            "above 0 %",
            [gain(FEW, most, 2)],
        ),
        _above(
            f"{FEW} clients, {PUBLISHED_THREADS} threads, mean over concepts: a gain (published: "
            f"{100 * _CLAIMS['gain_10_clients_6_threads']:.0f} %)",
            "above 0 %",
            [gain(FEW, each, PUBLISHED_THREADS) for each in scale.concepts],
        ),
        _largest(cases),
        _above(
            f"{FEW} clients: response times vary less with high than with low priority "
            "(Table III), mean of all cells, percentage points",
            "low above high",
            [(cases.run(cell), measures.rsd_drop_points) for cell in cases.of_clients(FEW)],
        ),
        _alone(cases.at(1, most, 2), most),
    ]


_CLAIMS = published()["ad_server"]["claims"]
_WHY_TWO = "the thread that takes a request searches here as well"

Figure = tuple[Case[AdServerRun], Value]


def _gains(cases: Cases, clients: int) -> list[Figure]:
    return [(cases.run(cell), measures.gain_percent) for cell in cases.of_clients(clients)]


def means(results: Results, figures: Sequence[Figure]) -> dict[int, float]:
    """Return the mean of these metrics for each repetition that has all of them, by seed."""
    found = {}
    for seed, row in results.together(*(case for case, _ in figures)).items():
        each = [value(one) for (_, value), one in zip(figures, row, strict=True)]
        known = [one for one in each if one is not None]
        if len(known) == len(row):
            found[seed] = fmean(known)
    return found


def _above(
    text: str, required: str, larger: Sequence[Figure], smaller: Sequence[Figure] = ()
) -> Claim:
    """Return the claim that the mean of `larger` is above the mean of `smaller`, by default 0."""
    return _compared(text, required, larger, smaller, is_above)


def _compared(
    text: str,
    required: str,
    larger: Sequence[Figure],
    smaller: Sequence[Figure],
    decide: Callable[[Estimate], bool | None],
) -> Claim:
    """Return a claim that compares two means: `decide` decides it from the mean difference over the
    repetitions."""

    def check(results: Results) -> Verdict:
        above = means(results, larger)
        below = means(results, smaller) if smaller else dict.fromkeys(above, 0.0)
        difference = estimate_known(differences(above, below).values())
        if difference is None:
            return NOTHING
        text = difference.text(1)
        if smaller:
            ours, theirs = (estimate(list(each.values())).text(1) for each in (above, below))
            text = f"{ours} and {theirs}, difference {text}"
        return text, decide(difference)

    return Claim(text, required, [case for case, _ in (*larger, *smaller)], check)


def _known_gains(cases: Cases, cells: Iterable[Cell], results: Results) -> dict[Cell, Estimate]:
    found = {cell: results.estimate(cases.run(cell), measures.gain_percent) for cell in cells}
    return {cell: gain for cell, gain in found.items() if gain is not None}


def _is_slower(gain: Estimate) -> bool:
    return is_above(gain) is False


def _never_slower(cases: Cases, clients: int) -> Claim:
    """Return the claim that high priority is not slower than low priority, except by chance. The
    claim is about all cells together, because a single cell can be slower by chance."""
    figures = _gains(cases, clients)

    def check(results: Results) -> Verdict:
        whole = estimate_known(means(results, figures).values())
        if whole is None:
            return NOTHING
        known = _known_gains(cases, cases.of_clients(clients), results)
        worst = min(known, key=lambda cell: known[cell].mean)
        text = (
            f"gain {whole.text(1)} %; high priority slower by more than the interval in "
            f"{sum(map(_is_slower, known.values()))} of {len(known)} cells; smallest gain "
            f"{known[worst].text(1)} % ({worst.concepts} concepts, {worst.threads} threads)"
        )
        return text, not _is_slower(whole)

    return Claim(
        f"{clients_words(clients)}: high priority is not slower than low priority, mean of all "
        "cells",
        "the gain, plus the half-width of its interval, is at least 0",
        [case for case, _ in figures],
        check,
    )


def _largest(cases: Cases) -> Claim:
    """Return the claim about the largest gain among the cells with several clients."""
    cells = [cell for clients in cases.scale.clients for cell in cases.of_clients(clients)]

    def check(results: Results) -> Verdict:
        known = _known_gains(cases, cells, results)
        if not known:
            return NOTHING
        best = max(known, key=lambda cell: known[cell].mean)
        # The largest of many gains is partly luck, so its whole interval must be above the limit.
        return f"{known[best].text(1)} % ({best.title})", is_above(
            known[best], LARGEST_GAIN_PERCENT
        )

    return Claim(
        "The largest gain of all cells with several clients (published: up to "
        f"{100 * _CLAIMS['max_gain']:.0f} %)",
        f"at least {LARGEST_GAIN_PERCENT:.0f} %, half of the published gain",
        [cases.run(cell) for cell in cells],
        check,
    )


def _alone(case: Case[AdServerRun], concepts: int) -> Claim:
    """Return the claim that a single client gains at least ALONE_GAIN_PERCENT."""
    return decided(
        f"A single client, 2 threads, {concepts} concepts: the gain (this project's own aim)",
        f"at least {ALONE_GAIN_PERCENT:.0f} %",
        [case],
        lambda results: results.estimate(case, measures.gain_percent),
        lambda gain: is_above(gain, ALONE_GAIN_PERCENT),
        digits=1,
        unit=" %",
    )

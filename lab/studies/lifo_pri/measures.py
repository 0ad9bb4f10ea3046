"""The values of LIFO-Pri's figures, calculated from the metrics of a run."""

from collections.abc import Sequence
from operator import itemgetter

import numpy as np

from lab.analysis.outcomes import Outcomes, SessionFates
from lab.results.metrics import Metrics, Value
from lab.studies.measures import RESPONSE_EDGES_S, RESPONSE_STEP_S
from loadgen.records.attempts import AttemptOutcome

_COUNTS = "first_page_response_counts"


def outcomes(metrics: Metrics) -> Outcomes:
    """Return the outcomes of the run with these metrics."""
    plain = metrics["outcomes"]
    # Earlier versions counted sessions that were never let in as lost.
    fates = SessionFates(**{"never_let_in": 0, **plain["fates"]})
    return Outcomes(**{**plain, "fates": fates})


def throughput_rps(metrics: Metrics) -> float:
    """Return the number of completed requests per paper second."""
    return outcomes(metrics).throughput_rps


def outcome_percent(outcome: str) -> Value:
    """Return a metric: the attempts with this outcome as a percentage of all attempts."""

    def value(metrics: Metrics) -> float:
        found = outcomes(metrics)
        attempts = sum(found.generated(page) for page in found.attempts)
        return 100 * found.count(AttemptOutcome(outcome)) / attempts

    return value


def unanswered_percent(t_s: float) -> Value:
    """Return a metric: the percentage of attempts at Br-1 that were not answered within `t_s`. The
    paper calls this the unconditional complementary distribution of the response time."""
    before = round(t_s / RESPONSE_STEP_S)
    return lambda metrics: (
        100 * (1 - sum(metrics[_COUNTS][:before]) / metrics["first_page_attempts"])
    )


def answered_between_percent(from_s: float, to_s: float) -> Value:
    """Return a metric: the percentage of attempts at Br-1 with a response time in this range."""
    first, last = round(from_s / RESPONSE_STEP_S), round(to_s / RESPONSE_STEP_S)

    return lambda metrics: 100 * sum(metrics[_COUNTS][first:last]) / metrics["first_page_attempts"]


def mode_s(repetitions: Sequence[Metrics]) -> float:
    """Return the mode of Br-1's response times: the middle of the most frequent bin. Bins are one
    second wide."""
    counts = np.sum([one[_COUNTS] for one in repetitions], axis=0)
    joined = counts.reshape(-1, round(1 / RESPONSE_STEP_S)).sum(axis=1)
    return float(joined.argmax() + 0.5)


def largest_answered_s(repetitions: Sequence[Metrics]) -> float:
    """Return the response time that 99.9 % of the answered requests do not exceed."""
    counts = np.sum([one[_COUNTS] for one in repetitions], axis=0)
    position = int(np.searchsorted(np.cumsum(counts), 0.999 * counts.sum()))
    return float(RESPONSE_EDGES_S[position + 1])


response_mean_s: Value = itemgetter("response_mean_s")
"""The mean response time of completed requests."""
transaction_response_mean_s: Value = itemgetter("transaction_response_mean_s")
"""The mean response time of completed transaction requests (Tr-1 to Tr-4)."""

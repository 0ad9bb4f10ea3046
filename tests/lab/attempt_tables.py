"""Attempts made by hand, for the tests of what is computed from them."""

from loadgen.records.attempt_log import AttemptLog
from loadgen.records.attempts import Attempt, not_generated


def log_of(attempts, **changed_outcomes):
    """Return a log of a table's attempts; a page whose name is given has another outcome."""
    log = AttemptLog()
    for row in attempts.to_pylist():
        if row["outcome"] == "not_generated":
            log.append(not_generated(row["session"], row["step"], row["page"]))
        else:
            outcome = changed_outcomes.get(row["page"].replace("-", "_"), row["outcome"])
            log.append(Attempt(**{**row, "outcome": outcome}))
    return log


def table(*rows):
    """Return a table of (session, step, page, attempt, started_s, response_s, outcome).

    A row of the first three alone is a page that was never requested.
    """
    log = AttemptLog()
    for session, step, page, *asked in rows:
        if not asked:
            log.append(not_generated(session, step, page))
            continue
        attempt, started_s, response_s, outcome = asked
        log.append(
            Attempt(
                session, step, page, attempt, started_s, started_s, started_s + response_s, 20.0,
                outcome, 200 if outcome == "completed" else 0,
            )
        )  # fmt: skip
    return log.table()


RUSH = table(
    # Session 0 buys; session 1 times out once, retries, leaves at the search; session 2 is dropped.
    (0, 0, "Br-1", 1, 1.0, 0.5, "completed"),
    (0, 1, "Br-2", 1, 1.5, 0.5, "completed"),
    (0, 2, "Br-4", 1, 2.0, 0.5, "completed"),
    (0, 3, "Tr-1", 1, 2.5, 0.5, "completed"),
    (0, 4, "Tr-2", 1, 3.0, 0.5, "completed"),
    (0, 5, "Tr-3", 1, 3.5, 0.5, "completed"),
    (0, 6, "Tr-4", 1, 4.0, 0.5, "completed"),
    (1, 0, "Br-1", 1, 2.0, 9.0, "timed_out"),
    (1, 0, "Br-1", 2, 11.0, 3.0, "completed"),
    (1, 1, "Br-3", 1, 14.0, 10.0, "timed_out"),
    (1, 2, "Br-4"),
    (2, 0, "Br-1", 1, 5.0, 0.0, "dropped"),
    (2, 1, "Br-2"),
)

SHOPPERS = table(
    # 0 and 1 get everything, 1 with a retry; 2 is rejected at once; 3 is rejected when it tries
    # again; 4 is dropped at its second page.
    (0, 0, "Br-1", 1, 1.0, 0.5, "completed"),
    (1, 0, "Br-1", 1, 1.0, 9.0, "timed_out"),
    (1, 0, "Br-1", 2, 10.0, 0.5, "completed"),
    (1, 1, "Br-2", 1, 11.0, 0.5, "completed"),
    (2, 0, "Br-1", 1, 2.0, 0.0, "rejected"),
    (2, 1, "Br-2"),
    (3, 0, "Br-1", 1, 2.0, 9.0, "timed_out"),
    (3, 0, "Br-1", 2, 11.0, 0.0, "rejected"),
    (4, 0, "Br-1", 1, 3.0, 0.5, "completed"),
    (4, 1, "Br-2", 1, 4.0, 0.0, "dropped"),
)

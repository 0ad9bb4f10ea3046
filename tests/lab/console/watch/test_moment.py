"""The sentence of the moment: it is true, and it fits what happens."""

import pytest

from lab.console.watch.frames import frame_of
from lab.console.watch.moment import sentence, share_words
from tests.lab.console.watch.test_frames import policy, snapshot

SOLD = {"confirms": 4, "revenue_cents": 9_400, "words": "run 1/2: SQ, ρ = 2", "ended_at": 5.0,
        "before": None}  # fmt: skip
RUN = {"run": 1, "words": "run 1/2: SQ, ρ = 2", "customers": {}, "patience_s": 20.0}
FIFO = policy() | {"snapshot": {"discipline": "FIFO"}}
LIFO = policy("always-lifo") | {"snapshot": {"discipline": "LIFO"}}
QUEUE = {
    "waiting": 3,
    "requests": [[7, "Br-2", 17.2, True], [8, "Br-1", 3.0, False], [9, "Tr-4", 0.4, False]],
}
EMPTY = {"waiting": 0, "in_service": 12}


def said(run=None, queue=None, sold=None, finished=None, **changed):
    """Return the sentence; `finished` are pages answered and orphaned since the sample before."""
    frame = frame_of(snapshot(**changed), queue, sold) | {"run": run}
    earlier = None
    if finished is not None:
        counts = dict(frame["counts"])
        counts["answered"] -= finished[0]
        counts["orphaned"] -= finished[1]
        earlier = frame | {"counts": counts}
    return sentence(frame, earlier)


def test_a_queue_is_told_with_who_has_gone_and_how_long_the_next_has_waited():
    assert said(RUN, QUEUE, policy=FIFO, finished=(20, 10)) == (
        "3 requests wait, and 1 of their customers has left. The next request to be served has "
        "waited 17 s. Customers leave after 20 s on average. One page in three is made for a "
        "customer who has left."
    )


def test_the_second_run_is_compared_with_the_first():
    before = {"confirms": 3, "words": "run 1/2: SQ, ρ = 2"}
    found = said(RUN | {"run": 2}, QUEUE, SOLD | {"before": before}, policy=FIFO)
    assert found.endswith("In the last run (run 1/2: SQ, ρ = 2), 3 customers bought.")


@pytest.mark.parametrize(
    ("acts", "words"),
    [
        (FIFO, "The next request to be served has waited 17 s."),
        (
            LIFO,
            "The newest request is next and has waited 0 s. The oldest request has waited 17 s.",
        ),
        (
            policy("8q-lifo-pri") | {"snapshot": {"discipline": "LIFO"}},
            "The oldest request has waited 17 s.",
        ),
    ],
)
def test_who_is_next_is_told_where_the_order_is_known(acts, words):
    """With several queues only the longest wait is certain."""
    assert words in said(RUN, QUEUE, policy=acts)


def test_a_queue_that_is_listed_in_part_has_no_newest_wait():
    """The list ends with an older request, and later ones may have lost their customers, too."""
    words = said(RUN, QUEUE | {"waiting": 400}, policy=LIFO, waiting=400)
    assert words.startswith(
        "400 requests wait, and at least 1 of their customers has left. The newest request is "
        "next. The oldest request has waited 17 s."
    )


def test_customers_who_never_leave_have_no_patience_to_tell():
    text = said(RUN | {"patience_s": None}, QUEUE, policy=FIFO)
    assert text.endswith("The next request to be served has waited 17 s.")


def test_an_empty_queue_and_the_end_of_arrivals_are_told():
    run = RUN | {"customers": {"planned": 100, "started": 100}}
    assert said(run, {"requests": []}, **EMPTY) == (
        "No request waits. 12 of the shop's 30 workers are busy. "
        "All customers of the run have arrived."
    )


def test_before_and_between_runs_the_launch_speaks():
    measuring = {"words": "Measuring the shop's capacity: about 40 s left."}
    assert said(measuring, QUEUE, policy=FIFO) == measuring["words"]
    between = {"words": "the next run begins soon", "between": True}
    assert said(between, sold=SOLD) == (
        "The next run begins soon. In the last run (run 1/2: SQ, ρ = 2), 4 customers bought."
    )


def test_without_a_run_the_page_says_what_is_known():
    idle = {"waiting": 0, "in_service": 0}
    assert said(**idle).startswith("The shop is idle, because no run is in progress.")
    assert said(**EMPTY) == "No run is in progress. 12 requests are still waiting or in service."
    assert said(sold=SOLD, **idle) == "The run has ended (run 1/2: SQ, ρ = 2). 4 customers bought."


def test_a_proxy_that_does_not_report_its_queue_is_told_by_its_places():
    assert said(RUN, waiting=None) == "30 of the shop's 30 workers are busy."


def test_shops_side_by_side_have_a_leader_or_none():
    shops = [{"title": "SQ", "confirms": 2}, {"title": "8Q-AF", "confirms": 5}]
    frame = frame_of(snapshot(), None, None) | {"run": RUN}
    assert sentence(frame | {"live_shops": shops}, None) == (
        "Two shops have the same customers. 8Q-AF leads with 5 confirms; SQ has 2."
    )
    level = [one | {"confirms": 5} for one in shops]
    assert "No policy leads yet" in sentence(frame | {"live_shops": level}, None)


@pytest.mark.parametrize(
    ("ratio", "words"),
    [
        (0.0, ""), (0.03, ""), (0.1, "one page in ten"), (0.33, "one page in three"),
        (0.5, "one page in two"), (0.65, "two pages in three"), (0.75, "three pages in four"),
        (0.9, "nine pages in ten"), (1.0, "nearly every page"),
    ],
)  # fmt: skip
def test_a_share_of_pages_is_told_in_words(ratio, words):
    assert share_words(ratio) == words


def test_a_queue_of_customers_who_have_gone_costs_little_work_if_the_newest_are_served():
    """Without this sentence the long queue of the better policy looks like the worse one."""
    gone = QUEUE | {
        "requests": [[7, "Br-2", 17.2, True], [8, "Br-1", 3.0, True], [9, "Tr-4", 0.4, False]]
    }
    few = said(RUN, gone, policy=LIFO, finished=(30, 1))
    assert few.endswith("Nearly every page is made for a customer who still waits.")
    some = said(RUN, gone, policy=LIFO, finished=(27, 3))
    assert some.endswith("Nine pages in ten are made for a customer who still waits.")
    many = said(RUN, gone, policy=LIFO, finished=(20, 10))
    assert many.endswith("One page in three is made for a customer who has left.")


def test_a_few_pages_have_no_share():
    assert "made for a customer" not in said(RUN, QUEUE, policy=FIFO, finished=(3, 3))

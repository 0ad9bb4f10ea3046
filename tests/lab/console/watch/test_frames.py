"""The content of a sample's frame, the changes in it, and the gaps in a long history."""

from itertools import pairwise

import pytest

from gateway.policies.interface import FATES, PAGES
from lab.console.watch.frames import changes, frame_of, thinned


def snapshot(**other):
    return {
        "gateway": 1,
        "time_s": 10.0,
        "time_scale": 10.0,
        "policy": {
            "name": "8q-lifo-pri",
            "parameters": {"cpu_upper_threshold": 0.99, "cpu_lower_threshold": 0.95},
            "admission": {"name": "none", "parameters": {}},
            "snapshot": {"discipline": "LIFO"},
        },
        "abandonment": {"mode": "ignore"},
        "waiting": 3,
        "waiting_by_page": {page: 3 * (page == "Br-2") for page in PAGES},
        "in_service": 30,
        "workers": 30,
        "counts": {page: dict.fromkeys(FATES, 2) for page in PAGES},
        "load": {"cpu_utilisation_ratio": 0.9, "status": {"cpu_s": 7.0, "sentry": {}}},
        "connections": {"new": 0, "resumed": 0, "refused": 0, "admission": {"name": "none"}},
    } | other


def test_a_frame_has_the_queue_in_the_order_of_waiting():
    queue = {"waiting": 2, "requests": [[7, "Br-2", 3.0, True], [9, "Tr-4", 1.0, False]]}
    frame = frame_of(snapshot(), queue, {"confirms": 1, "revenue_cents": 1250})
    assert frame["strip"] == [[7, 1, 1], [9, 7, 0]]
    assert frame["waiting_by_page"] == [0, 3, 0, 0, 0, 0, 0, 0]
    assert frame["thresholds"] == [0.99, 0.95]
    assert frame["title"] == "8Q-LIFO-Pri"
    assert frame["counts"]["arrived"] == 16
    assert frame["confirms"] == 1
    assert frame["sold"]["revenue_cents"] == 1250


def test_a_shop_that_has_not_answered_yet_leaves_gaps():
    frame = frame_of(snapshot(load={"status": None}), None, None)
    assert frame["cpu_utilisation_ratio"] is frame["work"]["cpu_s"] is frame["strip"] is None
    assert frame["confirms"] is frame["sold"] is None


def test_a_shadow_is_told_by_its_title_and_by_page():
    verdicts = {"same": 3, "later": 1}
    of_page = {"asked": 4, "agrees_ratio": 0.75, "earlier_s": None, "later_s": 2.5}
    found = {
        "name": "sq+sbac (capacity 50)",
        "policy": policy("sq", admission="sbac"),
        "fault": "",
        "waiting": 2,
        "in_service": 30,
        "since_s": 0.0,
        **of_page,
        "verdicts": verdicts,
        "pages": {"Br-2": of_page | {"verdicts": verdicts}},
    }
    (one,) = frame_of(snapshot(shadows=[found]), None, None)["shadows"]
    assert one["title"] == "SQ + SBAC (capacity 50)"
    assert one["pages"] == [None, [4, 0.75, None, 2.5], *[None] * 6]
    assert (one["asked"], one["verdicts"]) == (4, verdicts)
    gone = {"name": "sq", "policy": policy(), "fault": "KeyError: 1", "waiting": None}
    (one,) = frame_of(snapshot(shadows=[gone]), None, None)["shadows"]
    assert (one["fault"], one["asked"], one["pages"]) == ("KeyError: 1", None, [None] * 8)


def test_the_newest_disagreements_of_all_shadows_are_told():
    def said(id, arrived_s, acted_s, said_s):
        return {
            "id": id,
            "arrived_s": arrived_s,
            "acted": {"after_s": acted_s},
            "said": {"after_s": said_s},
        }

    one = {"name": "sq", "policy": policy(), "disagreements": [said(7, 5.0, 1.0, 9.0)]}
    old = [said(id, 0.0, 0.5, 0.0) for id in range(20)]
    other = {"name": "8q-af", "policy": policy("8q-af"), "disagreements": [said(8, 9, 1, 0), *old]}
    found = frame_of(snapshot(shadows=[one, other]), None, None)["disagreements"]
    assert [(each["id"], each["shadow"]) for each in found[:2]] == [(7, "SQ"), (8, "8Q-AF")]
    assert len(found) == 12


@pytest.mark.parametrize(
    ("connections", "told"),
    [
        ({"new": 0, "resumed": 0, "refused": 0, "admission": {"name": "none"}}, False),
        ({"new": 0, "resumed": 0, "refused": 0, "admission": {"name": "eac"}}, True),
        ({"new": 1, "resumed": 0, "refused": 0, "admission": {"name": "none"}}, True),
    ],
)
def test_connections_are_told_where_there_is_something_to_tell(connections, told):
    frame = frame_of(snapshot(connections=connections), None, None)
    assert (frame["connections"] is not None) == told


def policy(name="sq", parameters=None, admission="none", admission_parameters=None):
    return {
        "name": name,
        "parameters": parameters or {},
        "admission": {"name": admission, "parameters": admission_parameters or {}},
        "snapshot": {},
    }


@pytest.mark.parametrize(
    ("before", "after", "marks"),
    [
        ({}, {}, []),
        ({"policy": policy()}, {"policy": policy("8q-af")}, ["8Q-AF"]),
        ({"policy": policy()}, {"policy": policy(admission="sbac")}, ["SQ + SBAC"]),
        (
            {"policy": policy(parameters={"capacity": 100})},
            {"policy": policy(parameters={"capacity": 50})},
            ["SQ capacity 50"],
        ),
        (
            {"policy": policy(admission="sbac", admission_parameters={"ac_weight": 0.5})},
            {"policy": policy(admission="sbac", admission_parameters={"ac_weight": 1.0})},
            ["SQ + SBAC ac_weight 1"],
        ),
        ({}, {"abandonment": {"mode": "cancel"}}, ["when a customer leaves: cancel"]),
        ({}, {"time_scale": 5.0}, ["time scale 5"]),
        ({}, {"waiting": 50, "time_s": 99.0}, []),
    ],
)
def test_what_somebody_changed_is_a_mark(before, after, marks):
    frames = [frame_of(snapshot(**each), None, None) for each in (before, after)]
    assert [mark["text"] for mark in changes(*frames)] == marks


def test_the_first_look_is_no_change():
    assert changes(None, frame_of(snapshot(), None, None)) == []


@pytest.mark.parametrize("length", [0, 1, 2, 9, 10, 11, 400, 1999])
def test_a_history_is_thinned_evenly_and_keeps_the_newest(length):
    frames = [
        {"number": number, "strip": [number], "disagreements": []} for number in range(length)
    ]
    kept = thinned(frames, 10)
    assert len(kept) <= 11
    assert [frame["number"] for frame in kept[-1:]] == [length - 1][:length]
    numbers = [frame["number"] for frame in kept]
    assert numbers == sorted(set(numbers))
    gaps = [b - a for a, b in pairwise(numbers[:-1])]
    assert len(set(gaps)) <= 1
    assert not any({"strip", "disagreements"} & frame.keys() for frame in kept[:-1])
    assert kept[-1:] == frames[-1:]


def test_a_policy_that_was_given_up_is_told_with_the_reason():
    given_up = {"at_s": 12.3, "reason": "line 7, in arrival: KeyError: 3"}
    policy = snapshot()["policy"] | {"name": "plain", "snapshot": {"fallen_back": given_up}}
    frame = frame_of(snapshot(policy=policy), None, None)
    assert frame["fallen_back"].startswith("FIFO replaced plain at 12 s: line 7")
    assert frame_of(snapshot(), None, None)["fallen_back"] == ""

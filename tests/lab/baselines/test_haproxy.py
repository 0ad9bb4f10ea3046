"""HAProxy's configuration and what is read from it; the lines are HAProxy 2.6.12's own."""

from dataclasses import replace
from pathlib import Path

import pytest

from lab.baselines import sheets
from lab.baselines.haproxy import configuration, read_line, read_stats
from lab.baselines.process import page_rules
from lab.baselines.requests import Ended, Place, Queue

PLACE = Place(
    Path("/results/run"), Path("/tmp/s"), "127.0.0.1", 9181, "127.0.0.1", 8082, 10.0, "cancel", 5.6
)  # fmt: skip


def written(place=PLACE, **given):
    return configuration(sheets.read("haproxy", given), page_rules(), place)


def test_times_are_divided_by_the_time_scale_and_limits_are_not():
    text = written(queue_s=6, maxconn=8)
    assert "timeout queue 600ms" in text
    assert "server shop 127.0.0.1:8082 maxconn 8 " in text
    assert "timeout server 60s" in text


def test_each_page_has_its_class_and_a_mapping_changes_what_it_names():
    text = written(priorities={"Tr-4": -100})
    assert "set-priority-class int(-100) if { var(txn.page) -m str Tr-4 }" in text
    assert "set-priority-class int(0) if { var(txn.page) -m str Br-1 }" in text
    assert text.count("set-priority-class") == 8


def test_the_page_types_are_the_gateways_rules():
    text = written()
    for rule in page_rules():
        assert f"str({rule.page}) if" in text
        assert f"'^(?:{rule.path.pattern})\\z'" in text


def test_only_cancel_lets_go_of_who_has_left():
    assert "option abortonclose" in written()
    assert "abortonclose" not in written(replace(PLACE, abandonment="ignore"))


def test_a_bound_of_the_queue_is_there_only_when_asked_for_and_for_the_eight_pages_alone():
    assert "queue(shop)" not in written()
    backend = written(maxqueue=50).partition("backend shop\n")[2]
    assert "if { queue(shop) ge 50 }" in backend.partition("backend beside\n")[0]


ANSWERED = (
    '1795300166977 1795300166975 Br-4 200 -- 0 0 0 2 2 0b668496 "GET /books/4/?quick HTTP/1.1"\n'
)


def test_a_line_says_when_a_request_came_was_served_and_ended():
    assert read_line(ANSWERED) == Ended(
        "Br-4", "answered", 1795300166.975, 1795300166.975, 1795300166.977
    )
    waited = '1795297691365 1795297690288 Tr-1 200 -- 0 442 0 601 1086 dadd5f43 "GET / HTTP/1.1"'
    assert read_line(waited) == Ended(
        "Tr-1", "answered", 1795297690.288, pytest.approx(1795297690.730), 1795297691.365
    )


def line(rest, began=1795300167000):
    return f'{began + 500} {began} Br-1 {rest} 6e3b "GET / HTTP/1.1"'


@pytest.mark.parametrize(
    ("rest", "fate"),
    [
        ("503 LR 0 -1 -1 -1 0", "dropped"),
        ("503 sQ 0 501 -1 -1 501", "dropped"),
        ("503 SC 0 0 -1 -1 3004", "dropped"),
        ("-1 CQ 0 0 -1 -1 0", "withdrawn"),
        ("400 CH 0 0 0 -1 605", "cancelled"),
        ("-1 CD 0 0 0 -1 202", "cancelled"),
        ("200 CD 0 0 0 250 250", "orphaned"),
        ("502 SH 0 0 0 -1 250", "failed"),
        ("504 sH 0 0 0 -1 60250", "failed"),
    ],
)
def test_how_a_request_ended(rest, fate):
    ended = read_line(line(rest))
    assert ended is not None
    assert ended.fate == fate
    assert (ended.dispatched_s is None) == (fate in ("dropped", "withdrawn"))


@pytest.mark.parametrize(
    "text",
    [
        '1795300167783 - - 400 PR -1 -1 -1 -1 0 - "<BADREQ>"',
        line("-1 CR 200 -1 -1 -1 200"),
        "Proxy door started.",
        "",
    ],
)
def test_what_never_was_a_whole_request_is_none(text):
    assert read_line(text) is None


STATS = """\
# pxname,svname,qcur,qmax,scur,smax,slim,stot,bin,
door,FRONTEND,,,37,41,8192,8,567,
shop,shop,1,1,30,30,30,2,164,
shop,BACKEND,6,9,37,41,820,5,394,
beside,shop,0,0,0,1,4,1,87,
beside,BACKEND,0,0,0,1,820,1,87,

"""


def test_statistics_say_who_waits_in_either_queue_and_who_is_served():
    assert read_stats(STATS) == Queue(waiting=7, in_service=30, connections=37)
    for text in ("", "Unknown command", STATS.replace("shop,shop", "other,shop")):
        with pytest.raises(ValueError, match="does not contain HAProxy"):
            read_stats(text)

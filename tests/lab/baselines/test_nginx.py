"""nginx's configuration and what is read from it; the lines are nginx 1.22.1's own."""

import re
from dataclasses import replace
from pathlib import Path

import pytest

from gateway.http.pages import Rule
from lab.baselines import sheets
from lab.baselines.nginx import configuration, rate_per_minute, read_line, read_stats
from lab.baselines.process import page_rules
from lab.baselines.requests import Place, Queue

PLACE = Place(
    Path("/results/run"), Path("/tmp/s"), "127.0.0.1", 9181, "127.0.0.1", 8082, 10.0, "cancel", 5.6
)  # fmt: skip


def written(place=PLACE, rules=None, **given):
    return configuration(sheets.read("nginx", given), rules or page_rules(), place)


def test_the_rate_is_a_share_of_the_capacity_or_a_number_in_real_minutes():
    # 0.9 × 5.6 requests per paper second are 50.4 per real one.
    assert rate_per_minute(sheets.read("nginx", {}), PLACE) == 3024
    assert "rate=3024r/m" in written()
    assert rate_per_minute(sheets.read("nginx", {"rate_rps": 2}), PLACE) == 1200
    assert rate_per_minute(sheets.read("nginx", {"rate_rps": 1}), replace(
        PLACE, capacity_rps=None, time_scale=1.0
    )) == 60  # fmt: skip


def test_only_limited_pages_have_a_key():
    text = written(limited={"Br-1": 1, "Br-2": 0})
    assert "    Br-1 $server_name;\n" in text
    assert "Br-2 $server_name" not in text
    assert "Tr-4 $server_name" not in text
    assert 'default "";' in text


def test_a_burst_goes_on_at_once_or_is_delayed():
    assert "burst=30 nodelay;" in written()
    assert "burst=10;" in written(burst=10, nodelay=0)


def test_only_cancel_lets_go_of_who_has_left():
    assert "proxy_ignore_client_abort off;" in written()
    for abandonment in ("ignore", "drop-queued"):
        assert "proxy_ignore_client_abort on;" in written(replace(PLACE, abandonment=abandonment))


def test_a_rule_keeps_its_meaning_between_quotes():
    rule = page_rules()[0]
    odd = Rule(rule.page, rule.methods, re.compile(r'/a\d"b/'))
    assert r'"~^(?:GET|HEAD) (?:/a\\d\"b/)\\z" Br-1;' in written(rules=[odd])


@pytest.mark.parametrize(
    ("rest", "fate"),
    [
        ('200 0.304 200 0.304 PASSED PASSED "OK"', "answered"),
        ('200 0.601 200 0.600 PASSED PASSED ""', "orphaned"),
        ('503 0.000 - - REJECTED - "OK"', "dropped"),
        ('503 0.000 - - PASSED REJECTED "OK"', "dropped"),
        ('499 0.001 - - DELAYED - ""', "withdrawn"),
        ('499 0.050 - 0.050 - - ""', "cancelled"),
        ('502 0.001 502 0.001 PASSED PASSED "OK"', "failed"),
    ],
)
def test_how_a_request_ended(rest, fate):
    ended = read_line(f'1795300173.472 Br-3 {rest} 58e4 "GET / HTTP/1.1"')
    assert ended is not None
    assert (ended.page, ended.fate) == ("Br-3", fate)
    assert (ended.dispatched_s is None) == (fate in ("dropped", "withdrawn"))


def test_a_line_says_when_a_request_came_was_served_and_ended():
    delayed = read_line(
        '1795297886.691 Br-1 200 1.109 200 0.608 DELAYED PASSED "OK" 7cd1 "GET / HTTP/1.1"'
    )
    assert delayed is not None
    assert delayed.arrived_s == pytest.approx(1795297885.582)
    assert delayed.dispatched_s == pytest.approx(1795297886.083)
    assert delayed.ended_s == pytest.approx(1795297886.691)


@pytest.mark.parametrize(
    "line",
    [
        '1795300173.477 other 400 0.003 - - - - "OK" 2730 "GET /\\x01 HTTP/1.1"',
        '1795300173.477 other 408 10.003 - - - - "" 2730 "POST / HTTP/1.1"',
        "nginx: something else",
        "",
    ],
)
def test_what_nginx_refused_by_itself_is_none(line):
    assert read_line(line) is None


def test_the_status_page_counts_whoever_asks():
    text = (
        "HTTP/1.1 200 OK\r\nServer: nginx\r\n\r\nActive connections: 7 \nserver accepts handled "
        "requests\n 14 14 14 \nReading: 0 Writing: 3 Waiting: 4 \n"
    )
    assert read_stats(text) == Queue(waiting=None, in_service=2, connections=6)
    with pytest.raises(ValueError, match="not a status page"):
        read_stats("HTTP/1.1 404 Not Found\r\n\r\n")

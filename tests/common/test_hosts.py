"""Hosts as settings name them."""

import pytest

from common import hosts


@pytest.mark.parametrize(
    ("text", "host"),
    [
        ("127.0.0.1", "127.0.0.1"),
        ("[FD00::5]", "fd00::5"),
        ("shop", "shop"),
        ("postgres_1", "postgres_1"),
        ("Shop.Lab.Example", "shop.lab.example"),
        ("3com.example", "3com.example"),
    ],
)
def test_a_name_or_an_address(text, host):
    assert hosts.listening(text) == hosts.reached(text) == host


@pytest.mark.parametrize(
    "text",
    ["", "a b", "http://shop", "shop:80", "shop/", "-shop", "a..b", "300.1.1.1", "1.2.3", "x" * 64],
)
def test_anything_else_is_refused_with_the_form(text):
    with pytest.raises(ValueError, match="allowed: a name or an address without port"):
        hosts.listening(text)


@pytest.mark.parametrize("text", ["0.0.0.0", "::", "[::]"])
def test_nobody_is_reached_at_every_address(text):
    assert hosts.from_here(hosts.listening(text)) in ("127.0.0.1", "::1")
    with pytest.raises(ValueError, match="the address for all interfaces cannot be called"):
        hosts.reached(text)


@pytest.mark.parametrize(
    ("host", "is_ours"),
    [
        ("127.0.0.1", True),
        ("127.9.9.9", True),
        ("::1", True),
        ("localhost", True),
        ("0.0.0.0", False),
        ("10.0.0.5", False),
        ("127.evil.example", False),
        ("shop", False),
    ],
)
def test_what_only_this_machine_can_reach(host, is_ours):
    assert hosts.is_loopback(host) is is_ours


def test_an_address_of_ipv6_stands_in_brackets():
    assert hosts.authority("shop", 80) == "shop:80"
    assert hosts.authority("::1", 80) == "[::1]:80"


def test_who_is_known_and_who_is_not():
    assert hosts.unknown("localhost") is None
    assert hosts.unknown("192.0.2.1") is None
    assert hosts.unknown("shop.invalid")  # RFC 2606: no such name will ever be


def test_a_name_has_an_address_an_ipv4_one_if_there_is_one():
    assert hosts.address("localhost") == "127.0.0.1"
    assert hosts.address("::1") == "::1"
    assert hosts.address("0.0.0.0") == "0.0.0.0"


@pytest.mark.parametrize(
    ("field", "host"),
    [
        ("shop.example:8080", "shop.example"),
        ("Shop.Example", "shop.example"),
        ("[FD00::5]:8080", "fd00::5"),
        ("[::1]", "::1"),
    ],
)
def test_the_host_in_a_host_field(field, host):
    """The port and the brackets of an address are left out."""
    assert hosts.host_of(field) == host

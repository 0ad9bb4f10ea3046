"""A console without accounts is called by its machine's own names only."""

import pytest


@pytest.mark.parametrize(
    "host", ["127.0.0.1", "localhost", "lab:8087", "192.168.7.4:8087", "[::1]:8087", "LAB"]
)
def test_addresses_and_names_without_a_dot_are_good(console, host):
    answer = console.session.get(console.url("/"), headers={"Host": host}, timeout=60)
    assert answer.status_code == 200, answer.text


@pytest.mark.parametrize("host", ["evil.example", "evil.example:8087", "127.0.0.1.evil.example"])
@pytest.mark.parametrize("path", ["/", "/health", "/metrics", "/launches/table"])
def test_a_name_that_a_page_of_elsewhere_could_have_is_refused(console, host, path):
    answer = console.session.get(console.url(path), headers={"Host": host}, timeout=60)
    assert answer.status_code == 400
    assert "DOORBUSTER_LAB_ACCOUNTS=1" in answer.text

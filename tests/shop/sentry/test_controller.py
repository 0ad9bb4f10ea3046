"""The sentry at the shop's controller: its mode, its meter, its metrics."""

import json

import pytest
from prometheus_client.parser import text_string_to_metric_families

from common.page_types import PAGE_TYPES
from shop import sentry
from shop.control import controller, metrics
from shop.page_costs import page_work
from shop.sentry import configuration

pytestmark = pytest.mark.django_db


@pytest.fixture(autouse=True)
def as_before(page_work_as_before):
    configuration.reset_mode()
    yield
    configuration.reset_mode()


def call(method, path, body=None):
    payload = b"" if body is None else json.dumps(body).encode()
    answer = controller.answer(method, path, {"host": "localhost"}, payload)
    return answer.status, json.loads(answer.body)


@pytest.mark.parametrize("mode", sentry.MODES)
def test_the_mode_is_set_and_reported(mode):
    assert call("PUT", "/settings", {"sentry": mode})[1]["sentry"] == mode
    assert call("GET", "/status")[1]["settings"]["sentry"] == mode == sentry.mode()


def test_other_settings_leave_the_mode():
    call("PUT", "/settings", {"sentry": "cancel"})
    assert call("PUT", "/settings", {"seed": 5})[1]["sentry"] == "cancel"


def test_the_mode_leaves_the_draws():
    page = PAGE_TYPES[0]
    call("PUT", "/settings", {"seed": 5})
    budget = page_work.work.budget
    budget.draw(page)
    call("PUT", "/settings", {"sentry": "cancel"})
    assert page_work.work.budget is budget


def test_the_meter_is_in_the_status_as_documented():
    meter = call("GET", "/status")[1]["sentry"]
    text = (metrics.settings.REPOSITORY / "docs" / "sentry.md").read_text("utf-8")
    assert [name for name in meter if f"`{name}`" not in text] == []
    assert set(meter) == {"watching", *sentry.snapshot()}


def test_the_meter_is_in_the_metrics():
    found = {
        sample.name: sample.labels
        for family in text_string_to_metric_families(metrics.exposition().decode())
        for sample in family.samples
        if sample.name.startswith("doorbuster_shop_sentry_")
    }
    assert set(found) == {
        f"doorbuster_shop_sentry_{what}"
        for what in (
            "watched_requests", "disconnects_total", "cancels_attempted_total", "requests_total",
            "cancels_total", "cpu_seconds_total", "database_seconds_total",
        )
    }  # fmt: skip

"""The controller's answers to hostile bodies: one line each."""

import json

import pytest

from shop.control import calls, controller
from shop.page_costs import page_work
from tests.hostile_json import BODIES, objects_with

pytestmark = pytest.mark.usefixtures(
    "db", "page_work_as_before"
)  # an answer closes connections to the database that are old

FIELDS = {
    call.path: (*call.body.model_fields, "other") for call in calls.CALLS if call.body is not None
}


@pytest.mark.parametrize("path", FIELDS)
def test_a_hostile_body_gets_one_line(path):
    """No body causes a fault of the controller, and none changes a setting."""
    before = page_work.work.settings
    for what, body in {**BODIES, **objects_with(*FIELDS[path])}.items():
        answer = controller.answer("PUT", path, {"host": "localhost"}, body)
        assert answer.status == 400, (what, answer)
        error = json.loads(answer.body)["error"]
        assert error.isprintable(), (what, error)
        assert len(error) < 1_000, (what, error)
    assert page_work.work.settings == before

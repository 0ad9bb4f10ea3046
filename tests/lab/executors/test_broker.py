import pytest

from lab.errors import SpecError
from lab.executors.tasks import checked, shown


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("redis://:secret@head:6379/1", "redis://head:6379/1"),
        ("rediss://me:sec@ret@head/1", "rediss://head/1"),
        ("--celery=redis://:secret@head", "--celery=redis://head"),
        ("redis://[::1", "redis://[::1"),
        ("redis://head:6379/1", "redis://head:6379/1"),
        ("--quick", "--quick"),
    ],
)
def test_a_password_is_not_shown(text, expected):
    assert shown(text) == expected


def test_another_kind_of_broker_is_refused_by_the_option_that_names_it():
    assert checked("rediss://head", "--broker") == "rediss://head"
    with pytest.raises(SpecError, match=r"^--broker: 'amqp://head' is not the address") as refusal:
        checked("amqp://:secret@head", "--broker")
    assert "secret" not in str(refusal.value)

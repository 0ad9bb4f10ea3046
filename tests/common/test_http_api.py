"""Calls that models describe: a refusal in one sentence, and a valid document."""

from pathlib import Path
from typing import Annotated, Literal

import pytest
from pydantic import AfterValidator, Field
from pydantic.json_schema import SkipJsonSchema

from common import http_api
from common.http_api import Api, Body, Call, CallError, Query, Reply, checked
from tests.openapi import Described


def even(number):
    if number % 2:
        raise ValueError("must be even")
    return number


class Inner(Body):
    """A part."""

    size: int = Field(ge=1, description="its size")


class Wanted(Body):
    """The input of a call."""

    name: str = Field(max_length=5, description="a text of at most 5 characters")
    kind: Literal["a", "b"] = Field("a", description="its kind")
    ratio: Annotated[float, Field(gt=0, le=1)] | SkipJsonSchema[None] = Field(None)
    pairs: Annotated[int, AfterValidator(even)] = Field(2, ge=0, le=10)
    is_on: bool = Field(False)
    inner: Inner | SkipJsonSchema[None] = Field(None)
    parts: list[Inner] = Field([], max_length=2, description="a list of at most 2 parts")
    words: list[str] = Field([], description="a list of texts")


class Done(Reply):
    """The answer of a call."""

    name: str


class Wish(Query):
    """The parameters of a call's address."""

    limit: int = Field(5, ge=1, le=9, description="entries")


@pytest.mark.parametrize(
    ("given", "error"),
    [
        ([], "body: must be an object with the fields name, kind, ratio, pairs, is_on, inner, "
         "parts, words"),
        ({}, "name: is missing; it must be a text of at most 5 characters"),
        ({"name": 1}, "name: must be a text of at most 5 characters, not 1"),
        ({"name": None}, "name: must be a text of at most 5 characters, not null"),
        ({"name": "x", "kind": "c"}, "kind: must be one of a, b, not 'c'"),
        ({"name": "x", "ratio": 0}, "ratio: must be a number, at most 1, above 0, not 0"),
        ({"name": "x", "ratio": None}, "ratio: must be a number, at most 1, above 0, not null"),
        ({"name": "x", "pairs": True}, "pairs: must be a whole number from 0 to 10, not True"),
        ({"name": "x", "pairs": 2.0}, "pairs: must be a whole number from 0 to 10, not 2.0"),
        ({"name": "x", "pairs": 3}, "pairs: must be even"),
        ({"name": "x", "is_on": 1}, "is_on: must be true or false, not 1"),
        ({"name": "x", "inner": {"size": 0}}, "inner.size: must be a whole number, at least 1, "
         "not 0"),
        ({"name": "x", "inner": {"side": 0, "size": 1}}, "inner.side: no such field; allowed: "
         "size"),
        ({"name": "x", "parts": [{"size": 1}, {}]}, "parts.1.size: is missing; it must be a whole "
         "number, at least 1"),
        ({"name": "x", "parts": [3]}, "parts.0: must be an object with the fields size, not 3"),
        ({"name": "x", "words": ["y", 1]}, "words: must be a list of texts, not 1"),
    ],
)  # fmt: skip
def test_the_first_fault_is_one_sentence(given, error):
    with pytest.raises(CallError) as refused:
        checked(Wanted, given)
    assert str(refused.value) == error
    assert refused.value.answer["error"] == error
    assert refused.value.field == error.partition(":")[0]
    assert refused.value.allowed


def test_only_the_empty_text_is_missing_from_the_allowed_values():
    assert http_api.in_words({"enum": ["", 0, "a"]}) == "one of 0, a"


def test_a_body_that_fits_is_that_model():
    wanted = checked(Wanted, {"name": "x", "ratio": 1, "parts": [{"size": 2}]})
    assert (wanted.ratio, wanted.parts[0].size, wanted.inner, wanted.kind) == (1.0, 2, None, "a")


def test_a_query_is_text():
    assert checked(Wish, {"limit": "7"}).limit == 7
    with pytest.raises(CallError, match=r"^limit: must be a whole number from 1 to 9, not 'x'$"):
        checked(Wish, {"limit": "x"})


def test_a_refusal_quotes_a_caller_in_printable_characters():
    with pytest.raises(CallError) as refused:
        checked(Wanted, {"name": "x", "a\n\x1b[2Jb" + "c" * 5_000: 1})
    assert str(refused.value).isprintable()
    assert len(str(refused.value)) < 1_000


CALLS = (
    Call("GET", "/things", "List them", Done, query=Wish),
    Call("PUT", "/things/{id}", "Change one", Done, Wanted, parameter="its id"),
    Call("GET", "/picture", "Show it", "image/png", is_open=True),
)


def test_the_document_is_valid_and_has_the_calls():
    described = Described(http_api.document(Api("Things", "For the tests."), CALLS))
    assert described.calls == {(call.method, call.path) for call in CALLS}
    assert described.faults_of_body("PUT", "/things/{id}", {"name": "x"}) == []
    assert described.faults_of_body("PUT", "/things/{id}", {"name": "x", "ratio": None}) != []
    assert described.faults("PUT", "/things/{id}", 200, {"name": "x"}) == []
    assert described.faults("PUT", "/things/{id}", 200, {"name": "x", "more": 1}) != []


def test_the_tables_have_calls_and_fields():
    page = http_api.tables(http_api.document(Api("Things", "For the tests."), CALLS))
    words = "`id` in the path (its id), [Wanted](#wanted)"
    assert f"| `PUT /things/{{id}}` | Change one | {words} |" in page
    assert "`limit` in the query (entries)" in page
    assert "; |" not in page, "a call without refusals has no empty list of statuses"
    assert '| `kind` | `a`, `b`, optional, default `"a"` | its kind |' in page
    assert "\n## Done\n\nThe answer of a call.\n" in page


@pytest.mark.parametrize("page", ["admin-api", "controller-api", "console-api"])
def test_every_field_of_an_api_has_a_meaning(page):
    """The page shows it in its last column, and that of a parameter in the table of calls."""
    path = Path(__file__).parents[2] / "docs" / f"{page}.md"
    calls, fields = path.read_text(encoding="utf-8").split("\n## ", 1)
    assert "| `GET " in calls
    assert " |  |\n" not in fields
    assert calls.count(" in the path") == calls.count(" in the path (")

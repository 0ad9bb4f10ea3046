"""Documents are in plain English; what is left to rewrite in code may only become less."""

from collections.abc import Iterator

import pytest

from tests.language.covered import CEILINGS, REFERENCE, ceiling, documents, findings_below
from tests.language.passages import REPOSITORY, Form, Passage, of_result
from tests.language.rules import findings, sentences

VERDICTS = "conclusion.json"
"""Its sentences can be long, because they name all policies that are alike."""


@pytest.mark.parametrize("path", [str(path.relative_to(REPOSITORY)) for path in documents()])
def test_a_document_is_in_plain_english(path: str):
    found = findings_below(path)
    assert not found, "\n" + "\n".join(found)


@pytest.mark.parametrize("result", sorted(path.name for path in REFERENCE.iterdir()))
def test_an_included_result_is_in_plain_english(result: str):
    """A result that was made with older words is made again: `make reference-results`."""
    files = sorted(set((REFERENCE / result).glob("*.json")) - {REFERENCE / result / VERDICTS})
    found = [str(each) for path in files for text in of_result(path) for each in findings(text)]
    assert found == []


@pytest.mark.parametrize("root", CEILINGS)
def test_a_root_has_no_more_findings_than_its_ceiling(root: str):
    found = findings_below(root)
    assert len(found) <= ceiling(root), (
        f"{len(found)} findings in {root}, at most {ceiling(root)} allowed; "
        f"`python -m tests.language {root}` lists them"
    )


def _found(text: str, form: Form = Form.PROSE) -> Iterator[str]:
    for finding in findings(Passage("page.md", 1, form, text)):
        yield finding.rule


@pytest.mark.parametrize(
    "text",
    [
        "The mend is printed.",
        "Whoever comes late waits.",
        "Who keeps no cookies is a new session.",
        "Of these runs all count.",
        "Nobody waits.",
        "The process is told the limit.",
        "It prints its version and says so.",
        "A row of its own follows.",
        "The published value stands beside the measured one.",
        "All pages but one have it.",
        "The value is no number.",
        "A run costs " + "one more word " * 13 + "and then ends.",
        "DOOR keeps few requests at the door.",
    ],
)
def test_a_sentence_to_rewrite_is_found(text: str):
    assert list(_found(text))


@pytest.mark.parametrize(
    "text",
    [
        "A client without cookies counts as a new session on every request.",
        "There is no queue.",
        "What does it cost?",
        "So many customers come that the queue is full.",
        "DOOR starts with the fresh door and few hands.",
        "Anything else is an error; nothing else. `x` says what is allowed.",
    ],
)
def test_plain_sentences_pass(text: str):
    assert not list(_found(text))


def test_sentences_end_at_their_points_and_not_at_abbreviations():
    text = "A first one (e.g. SQ). W. Meira Jr. wrote it. Is ρ = 1.4? Yes."
    assert sentences(text) == [
        "A first one (e.g. SQ).",
        "W. Meira Jr. wrote it.",
        "Is ρ = 1.4?",
        "Yes.",
    ]


def test_a_heading_may_be_a_phrase():
    assert not list(_found("What you should find", Form.HEADING))

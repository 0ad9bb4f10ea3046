"""The prose of a report is read from Markdown as `report_text` describes it."""

import pytest

from lab.studies.registry import PAPERS
from lab.studies.report_text import ReportTextError, parse_report, read_report

WHOLE = """\
# A title

The first paragraph,
over two lines.
{% if quick %}
A quick sentence.
{% else %}
A whole sentence.
{% endif %}

{% if engine == "live" %}
A second one.
{% endif %}

## Readings

### Loads

{{ number | g }} and {{ number | thousands }}{% if quick %}, less{% endif %}
of it, “< 3 | 4”.

## Figures and tables

{% for key in ["a", "b"] %}
### Figure {{ key }}: {{ key }} {#figure-{{ key }}}

What it shows. <!-- not printed -->

#### Where it differs

First.

Second.

#### Note

A note on {{ key }}.

{% endfor %}
### Table 1 {#table-1}

No more than this.
"""


@pytest.fixture
def read(tmp_path):
    def read(text, **values):
        file = tmp_path / "report.md"
        file.write_text(text, encoding="utf-8")
        return read_report(file, values)

    return read


def test_every_part_is_found(read):
    text = read(WHOLE, quick=False, engine="simulated", number=20000.0)
    assert text.title == "A title"
    assert text.summary == ("The first paragraph, over two lines. A whole sentence.",)
    assert text.readings == (("Loads", "20000 and 20,000.0 of it, “< 3 | 4”."),)
    assert list(text.figures) == ["figure-a", "figure-b", "table-1"]
    figure = text.figure("figure-b")
    assert (figure.key, figure.heading, figure.what) == (
        "figure-b",
        "Figure b: b",
        "What it shows.",
    )
    assert figure.differs == ("First.", "Second.")
    assert text.note("figure-b", "Note") == "A note on b."
    assert text.figure("table-1").differs == ()


def test_conditions_choose_sentences_and_paragraphs(read):
    text = read(WHOLE, quick=True, engine="live", number=3)
    assert text.summary == (
        "The first paragraph, over two lines. A quick sentence.",
        "A second one.",
    )
    assert text.readings[0][1] == "3 and 3, less of it, “< 3 | 4”."


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("no heading", "does not begin"),
        ("# T\n\n## Something else\n", "Something else"),
        ("# T\n\n## Readings\n\n### A\n", "A: 0 paragraphs"),
        ("# T\n\n## Readings\n\n### A\n\none\n\ntwo\n", "A: 2 paragraphs"),
        ("# T\n\n## Figures and tables\n\n### Figure 1\n\none\n", "Figure 1: a figure's heading"),
        ("# T\n\n## Figures and tables\n\n### A {#a}\n\nx\n\n### B {#a}\n\nx\n", "a: two"),
    ],
)
def test_what_is_in_the_wrong_place_is_named(text, said):
    with pytest.raises(ReportTextError, match=said):
        parse_report(text)


def test_a_figure_or_note_without_prose_is_named_with_those_there_are(read):
    text = read(WHOLE, quick=True, engine="live", number=3)
    with pytest.raises(ReportTextError, match=r"figure-c.*figure-a, figure-b"):
        text.figure("figure-c")
    with pytest.raises(ReportTextError, match=r"figure-a.*“Other”"):
        text.note("figure-a", "Other")


@pytest.mark.parametrize("paper", PAPERS)
@pytest.mark.parametrize("quick", [True, False])
def test_all_prose_of_a_paper_is_used_on_some_engine(paper, quick):
    study = PAPERS[paper]
    written, drawn = set(), set()
    for engine in study.engines:
        cases = study.cases_of(engine, quick=quick)
        written |= set(study.text(cases, quick=quick).figures)
        drawn |= {figure.key for figure in study.build(engine, quick=quick).figures}
    # A quick ad server has no number of clients between the two of the paper's figures.
    assert written - drawn <= ({"gain-between"} if quick else set())

"""One table in its four forms."""

import pytest
from rich.console import Console

from lab.report.drawing.table import Table

TABLE = Table(
    "Requests",
    ("Policy", "published | measured", "Holds"),
    [("SQ", "12 | 13 ± 2", "yes"), ("<8Q>", "1 | 2", "no")],
    "Means.",
)


def printed(width: int, table: Table = TABLE) -> str:
    console = Console(width=width)
    with console.capture() as captured:
        console.print(table.in_terminal(console))
    return captured.get()


def test_csv_has_the_header_and_the_rows() -> None:
    assert TABLE.csv() == ("Policy,published | measured,Holds\nSQ,12 | 13 ± 2,yes\n<8Q>,1 | 2,no\n")


def test_markdown_escapes_the_bar_between_two_numbers() -> None:
    assert "| SQ | 12 \\| 13 ± 2 | yes |" in TABLE.markdown()
    assert TABLE.markdown().endswith("\nMeans.\n")


def test_html_escapes_and_marks_verdicts() -> None:
    html = TABLE.html(of_words=True)
    assert '<th scope="row">&lt;8Q&gt;</th>' in html
    assert '<td class="no">no</td>' in html
    assert '<p class="soft">Means.</p>' in html


def test_a_narrow_terminal_prints_two_numbers_on_two_lines() -> None:
    assert "12 | 13 ± 2" in printed(80)
    assert "12 | 13" not in printed(30)


@pytest.mark.parametrize("width", [80, 10])
def test_a_table_without_rows_prints_its_header(width: int) -> None:
    text = printed(width, Table("Requests", TABLE.header))
    assert "Requests" in text
    assert "Policy" in text


def test_html_names_the_published_and_the_measured_number() -> None:
    assert (
        '<td><span class="theirs"><span class="unseen">published </span>12</span> '
        '<span class="ours"><span class="unseen">here </span>13 ± 2</span></td>'
    ) in TABLE.html()


def test_a_table_of_a_result_is_drawn_likewise() -> None:
    """A result keeps its tables as JSON, and an old one has no note."""
    plain = {"header": ["Policy", "Sold"], "rows": [["SQ", 12]]}
    assert '<th scope="row">SQ</th><td>12</td>' in Table.of(plain).html()

"""The course kit names every lab, its schedule respects their order, and its exam is right."""

import math
import re
from statistics import mean, stdev

import pytest

from gateway.policies.interface import Page
from gateway.policies.processor_assignment import Wish, assign
from gateway.policies.registry import sheet
from lab.lessons.sheet import sheets
from loadgen.workload.sessions import SessionModel
from runtime.settings import REPOSITORY

KIT = REPOSITORY / "docs" / "teaching"
MODEL = SessionModel()
FIRST_PAGE_S = 0.2
MEAN_PAGE_S = 0.2501


def text(name: str) -> str:
    return (KIT / name).read_text(encoding="utf-8")


def solution(number: int) -> str:
    """The solution of an exam question, on one line."""
    _, _, solutions = text("exam.md").partition("## Solutions")
    found = re.search(rf"^{number}\. (.*?)(?=^\d+\. |\Z)", solutions, re.MULTILINE | re.DOTALL)
    assert found, number
    return " ".join(found[1].split())


def requests_of_a_session_never_answered(probability: float, retries: int) -> float:
    return sum(probability**k for k in range(retries + 1))


@pytest.mark.parametrize("page", ["outcomes.md", "schedules.md"])
def test_a_page_names_every_lab(page: str):
    assert {sheet.path.name for sheet in sheets()} <= set(re.findall(r"[\w-]+\.md", text(page)))


def test_the_outcomes_name_steps_that_exist():
    steps = {sheet.number: len(sheet.steps) for sheet in sheets()}
    questions = {sheet.number: len(sheet.questions) for sheet in sheets()}
    lab = 0
    for row in text("outcomes.md").splitlines():
        if row.startswith("| ["):
            lab = int(row[3])
        if row.startswith("|") and lab:
            checked_by = row.rsplit("|", 2)[1]
            for what, number in re.findall(r"(step|question)s? (\d+)", checked_by):
                assert int(number) <= (steps if what == "step" else questions)[lab], row


def test_the_weeks_keep_the_order_of_the_labs():
    _, _, weeks = text("schedules.md").partition("## A course of 15 weeks")
    order = [int(number) for number in re.findall(r"\.\./labs/0(\d)-", weeks)]
    for later, earlier in {2: 1, 7: 2, 8: 2, 9: 2}.items():
        assert order.index(earlier) < order.index(later)
    assert re.findall(r"^\| (\d+) \|", weeks, re.MULTILINE) == [str(n) for n in range(1, 16)]


def test_the_single_session_takes_90_minutes():
    one, _, _ = text("schedules.md").partition("## A course of 15 weeks")
    assert sum(map(int, re.findall(r"^\| (\d+) \|", one, re.MULTILINE))) == 90


def test_the_marks_add_up_to_ten():
    marks = re.findall(r"^\| [^|]+ \| (\d+) \|", text("marking-sheet.md"), re.MULTILINE)
    assert sum(map(int, marks[:-1])) == int(marks[-1]) == 10


def test_the_solution_of_the_load():
    rho = 3.5 / MODEL.session_rate(rho=1.0, capacity_rps=5.6)
    assert f"= {rho:.2f}" in solution(1)
    assert f"{1 / rho:.0%}".replace("%", " %") in solution(1)


def test_the_solution_of_the_full_queue():
    waited_s = 80 / 5.6
    there = math.exp(-(waited_s - 8) / 12)
    assert f"= {waited_s:.1f} s" in solution(2)
    assert f"= {100 * there:.1f} %" in solution(2)
    assert f"= {100 * round(there, 3) ** 7:.1f} %" in solution(2)


def test_the_solution_of_the_priority():
    utility = next(
        parameter for parameter in sheet("8q-lifo-pri").parameters if parameter.name == "utility"
    ).default
    assert utility[Page.HOME] == 27
    assert utility[Page.DETAILS] == 73
    assert utility[Page.LOGIN] == 3650
    served = next(n for n in range(41) if (40 - n) * 27 < 10 * 73)
    assert f"After {served} served requests, N × U is 27 × 27" in solution(4)
    assert f"so {math.ceil(2 * 3650 / 27)}" in solution(4)


def test_the_solution_of_the_retries():
    for (probability, retries), load in {(0.5, 3): "0.56", (0.8, 8): "1.30"}.items():
        requests = requests_of_a_session_never_answered(probability, retries)
        work = requests * FIRST_PAGE_S / (2.397 * MEAN_PAGE_S)
        assert f"{work:.2f}" in solution(8)
        assert f"{0.9 * work:.2f}" == load
        assert load in solution(8)


def test_the_solution_of_the_statistics():
    a, b = [10, 12, 9, 14, 11], [8, 11, 8, 12, 10]
    difference = [one - other for one, other in zip(a, b, strict=True)]
    for values in (a, b, difference):
        half = 2.776 * stdev(values) / math.sqrt(5)
        assert f"{mean(values):.1f} ± {half:.1f}" in solution(10)


def test_the_solution_of_the_processors():
    weighted = assign([Wish("a", 3.0, 4), Wish("b", 1.0, 4)], 4)
    assert [share.whole for share in weighted.values()] == [3, 1]
    halved = assign([Wish("a", 1.0, 3), Wish("b", 1.0, 2)], 4)
    processors = [share.whole + (share.partner is not None) / 2 for share in halved.values()]
    assert "{:g} and {:g}".format(*processors) in solution(12)

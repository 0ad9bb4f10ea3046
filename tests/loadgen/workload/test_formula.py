"""Loads by a formula: a small arithmetic, checked before it is used."""

import pytest

from loadgen.workload.formula import Formula, FormulaError


@pytest.mark.parametrize(
    ("text", "at_s", "value"),
    [
        ("1 + 0.9*sin(2*pi*t/300)", 75, 1.9),
        ("-(-2) ** 2 + 5", 0, 1.0),
        ("2 ** 3 ** 2", 0, 512.0),
        ("max(0, 1 - t/10, 0.25)", 9, 0.25),
        ("min(t, 3) + exp(0) + cos(0)", 7, 5.0),
        (" +t ", 1.5, 1.5),
    ],
)
def test_a_formula_has_the_value_of_its_arithmetic(text, at_s, value):
    assert Formula(text).at(at_s) == pytest.approx(value)


@pytest.mark.parametrize(
    ("text", "column"),
    [
        ("1 + x", "column 5"),
        ("__import__('os').system('true')", "column 1"),
        ("t.real", "column 1"),
        ("sin(t, t)", "column 1"),
        ("min(t)", "column 1"),
        ("sin(x=t)", "column 1"),
        ("min(*[t, 1])", "column 1"),
        ("1 if t else 2", "column 1"),
        ("2 * [1][0]", "column 5"),
        ("1j", "column 1"),
        ("True", "column 1"),
        ("'1'", "column 1"),
        ("t % 2", "column 1"),
        ("t +", "column"),
        ("", "column 1"),
        ("lambda: 1", "column 1"),
        ("(" * 150 + "t" + ")" * 49, "allowed"),
    ],
)
def test_nothing_else_is_a_formula(text, column):
    """Each refusal names the column, or the text cannot be read at all, and lists what may be."""
    with pytest.raises(FormulaError, match="sin, cos, exp, min and max") as raised:
        Formula(text)
    assert column in str(raised.value)


def test_a_long_text_is_refused_before_it_is_read():
    with pytest.raises(FormulaError, match="201 characters; allowed: at most 200"):
        Formula("1" * 201)


@pytest.mark.parametrize("text", ["1/(t-5)", "4 - t", "exp(t*1000)", "9**9**9", "(t-9)**0.5"])
def test_a_time_without_a_load_is_named(text):
    """Division by zero, overflow, roots of negative numbers and negative loads."""
    formula = Formula(text)
    with pytest.raises(FormulaError, match=r" at t = 5; allowed: a number of 0 or more"):
        formula.at(5)

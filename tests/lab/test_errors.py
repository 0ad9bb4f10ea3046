"""Errors carry their faults as data, also from one process to another."""

import pickle

import pytest

from common import bounded
from lab.errors import Fault, SpecError


@pytest.mark.parametrize(
    ("error", "text", "field"),
    [
        (SpecError("nothing to do"), "nothing to do", ""),
        (SpecError("--rho", "is 9", allowed="0 to 5"), "--rho: is 9; allowed: 0 to 5", "--rho"),
        (SpecError("a.toml", "seed", "is missing"), "a.toml: seed: is missing", "seed"),
        (SpecError("", "seed", "is missing"), "seed: is missing", "seed"),
    ],
)
def test_a_fault_has_a_text_and_a_field(error: SpecError, text: str, field: str) -> None:
    """The text is the same after the way through a pool of processes."""
    assert str(error) == text
    assert error.faults[0].field == field
    assert str(pickle.loads(pickle.dumps(error))) == text


def test_an_error_has_a_line_for_each_fault() -> None:
    error = SpecError.of([Fault(("seed",), "is missing"), Fault((), "… and 2 more faults")])
    assert str(error) == "seed: is missing\n… and 2 more faults"
    assert pickle.loads(pickle.dumps(error)).faults == error.faults


def test_a_child_process_passes_its_faults() -> None:
    bounds = bounded.Bounds(memory_bytes=64 * 2**20, cpu_s=5, wall_s=30)
    asked = {"text": "a = " + "[" * 30, "origin": ""}
    with pytest.raises(bounded.BoundedError) as refused:
        bounded.call("lab.spec.text:as_json", asked, bounds)
    (fault,) = SpecError.of_child(refused.value).faults
    assert (fault.field, fault.allowed) == ("", "at most 12 levels")
    assert str(fault) == str(refused.value)

"""The console reads no trace of arrivals by its path, whichever way a spec comes to it.

`tests/lab/console/api` sends such a spec to the API.
"""

import io
import json
import shutil
from dataclasses import replace

import pytest
import tomli_w

from lab.console.launches.forms import LaunchForm, from_values, initial, uploaded
from lab.console.results import imports
from lab.console.site import allowances
from lab.errors import SpecError
from lab.results.comparison import ComparisonResult
from lab.spec.experiment import load_spec
from loadgen.workload import trace
from tests.lab.console.bundling import bundle_of
from tests.results_in_postgres import small_result

NOT_INCLUDED = r"load\.arrivals\.trace: .*included traces; allowed: day, flash-sale, or any name"


@pytest.fixture
def secret(tmp_path, monkeypatch):
    """A file that the console may read, and a person may not; reading any trace fails the test."""
    path = tmp_path / "class.csv"
    path.write_text("time_s,password\n1,secret\n2,secret\n")
    monkeypatch.setattr(trace, "read", lambda path: pytest.fail(f"{path} was read"))
    return path


@pytest.fixture(scope="module")
def made(tmp_path_factory):
    """A small result."""
    with pytest.MonkeyPatch.context() as patch:
        return small_result(tmp_path_factory.mktemp("made"), patch)


def spec_with(path):
    return {
        "version": 1,
        "engine": "simulated",
        "policy": [{"name": "sq"}],
        "load": {"rho": [1.2], "arrivals": {"trace": str(path)}},
    }


def stored_with(path, result):
    """The spec of this result, as somebody changed it by hand."""
    lines = (result.path / "spec.toml").read_text().splitlines()
    kept = [line for line in lines if not line.startswith("sessions =")]
    return "\n".join(kept).replace("[load]", f"[load]\narrivals = {{trace = '{path}'}}")


def test_no_path_comes_in_an_uploaded_file(secret):
    text = tomli_w.dumps(spec_with(secret))
    with pytest.raises(SpecError, match=NOT_INCLUDED):
        uploaded("mine.toml", text.encode(), allowances.TEACHER)


def test_no_path_comes_in_the_values_of_a_spec(secret):
    with pytest.raises(SpecError, match=NOT_INCLUDED):
        from_values(spec_with(secret), "spec", allowances.TEACHER)


def test_no_path_comes_from_the_form(secret):
    """The form has no field for a trace, and ignores others."""
    base = load_spec("lifo-pri-simulated")
    fields = {**initial(base), "trace": str(secret), "load.arrivals.trace": str(secret)}
    spec = LaunchForm(fields | {"arrivals": f"{{trace = '{secret}'}}"}).spec(
        base, allowances.TEACHER
    )
    assert spec is not None
    assert spec.load.arrivals is None


def test_a_result_with_a_path_has_no_spec_to_change_and_run_again(secret, made, tmp_path):
    shutil.copytree(made.path, tmp_path / "changed")
    (tmp_path / "changed" / "spec.toml").write_text(stored_with(secret, made))
    with pytest.raises(SpecError, match=NOT_INCLUDED):
        ComparisonResult(tmp_path / "changed").spec()


def test_a_bundle_with_a_path_is_refused(secret, made, tmp_path):
    packed = bundle_of(made.path, "", {"spec.toml": stored_with(secret, made)})
    limits = replace(allowances.STUDENT, whose="a student of this test")
    (tmp_path / "results").mkdir()
    with pytest.raises(SpecError, match=NOT_INCLUDED):
        imports.bring(
            io.BytesIO(packed), tmp_path / "results", by="mal", key="mal", allowance=limits
        )
    assert list((tmp_path / "results").iterdir()) == []


def test_a_trace_with_its_counts_is_taken_and_no_file_is_read(secret):
    """A result of the command line has them, whatever the path of the file was."""
    plain = spec_with(secret)
    plain["load"]["arrivals"] |= {"counts": [1, 5, 2], "traced_s": 30}
    spec = from_values(json.loads(json.dumps(plain)), "spec", allowances.TEACHER)
    assert spec.load.arrivals_s == 30

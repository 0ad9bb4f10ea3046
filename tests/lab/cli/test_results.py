"""The commands about results and specs that print JSON for programs."""

import json

import jsonschema
import pytest
from click.testing import CliRunner

from common import ports
from doorbuster.commands import main
from lab.cli.experiment_options import complete_spec
from lab.spec.experiment import SPECS, load_spec
from lab.students.template import write_policy

pytestmark = pytest.mark.slow


SMALL = ("--policies", "sq", "--rho", "1.4", "--sessions", "100", "--repetitions", "1")


@pytest.fixture
def results(tmp_path, monkeypatch):
    """An empty folder of results."""
    monkeypatch.setenv("DOORBUSTER_RESULTS_DIR", str(tmp_path))
    return tmp_path


def printed(*words, status=0):
    done = CliRunner().invoke(main, words)
    assert done.exit_code == status, done.output
    return done.stdout


def test_a_made_result_is_listed_before_the_included_ones(results):
    printed("simulate", *SMALL)
    (path,) = results.iterdir()
    first, *others = json.loads(printed("results", "list", "--json"))
    assert (first["name"], first["origin"], first["engine"]) == (path.name, "here", "simulated")
    assert {one["origin"] for one in others} == {"included"}
    assert printed("results", "list").startswith(path.name)
    assert "Who sells" in printed("results", "show", path.name)
    shown = json.loads(printed("results", "show", str(path), "--json"))
    assert shown["spec"]["load"]["sessions"] == 100
    assert "Who sells" in {table["title"] for table in shown["tables"]}
    assert "Figures: " in printed("results", "draw", path.name)
    assert "cannot change" in CliRunner().invoke(main, ["results", "draw", "reference-race"]).stderr
    (path / "tables.md").unlink()
    done = CliRunner().invoke(main, ["results", "show", path.name])
    assert (done.exit_code, "tables.md cannot be read" in done.stderr) == (1, True)


def test_a_reproduction_shows_its_claims(results):
    assert printed("results", "show", "reference-sbac").startswith("yes: ")
    shown = json.loads(printed("results", "show", "reference-sbac", "--json"))
    assert shown["kind"] == "reproduction"
    assert shown["claims"]


def test_an_unknown_and_a_damaged_result_are_named(results):
    done = CliRunner().invoke(main, ["results", "show", "nope"])
    assert done.exit_code == 2
    assert "no result 'nope'" in done.stderr
    (results / "20260101T000000Z-odd").mkdir()
    (results / "20260101T000000Z-odd" / "plan.json").write_text("[]")
    (first, *_) = json.loads(printed("results", "list", "--json"))
    assert first["kind"] == "damaged"
    done = CliRunner().invoke(main, ["results", "show", first["name"]])
    assert done.exit_code == 1
    assert "is damaged: " in done.stderr


def test_a_reproduction_without_claims_names_its_command(results):
    """An interrupted reproduction has no claims, and `results draw` cannot create them."""
    folder = results / "20260101T000000Z-reproduce-sbac"
    folder.mkdir()
    (folder / "reproduction.json").write_text('{"paper": "sbac", "engine": "simulated"}')
    (first, *_) = json.loads(printed("results", "list", "--json"))
    assert (first["kind"], first["title"]) == ("reproduction", "Reproduce sbac")
    done = CliRunner().invoke(main, ["results", "show", folder.name])
    assert done.exit_code == 1
    assert "create it with `doorbuster reproduce`" in done.stderr


def test_the_schema_accepts_every_included_spec():
    schema = json.loads(printed("schema"))
    for path in SPECS.glob("*.toml"):
        content = load_spec(path.stem).model_dump(mode="json", exclude_none=True)
        assert jsonschema.Draft202012Validator(schema).is_valid(content), path


def test_a_check_prints_its_findings_for_a_program(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    file, _ = write_policy("quiet-door", tmp_path / "own")
    checked = json.loads(printed("policy", "check", str(file), "--json"))
    assert checked["valid"] is True
    assert {one["holds"] for one in checked["findings"]} == {True}
    file.write_text("import os\n")
    checked = json.loads(printed("policy", "check", str(file), "--json", status=1))
    assert checked["valid"] is False


def test_a_shell_completes_included_specs():
    found = complete_spec(None, None, "lifo-pri-s")
    assert [one.value for one in found] == ["lifo-pri-simulated", "lifo-pri-s"]
    assert found[-1].type == "file"


def test_an_address_without_a_server_has_its_own_message():
    """A refused connection reached no server: the message names the fix, and no launch page."""
    (port,) = ports.free(1)
    done = CliRunner().invoke(
        main, ["launch", "first-look", "--server", f"http://127.0.0.1:{port}"]
    )
    assert done.exit_code == 1
    assert "No server answers at http://127.0.0.1:" in done.output
    assert "make up" in done.output
    assert "If the launch has reached" not in done.output

"""Students' files in the console's forms: those in the folder, and no others."""

import re
import shutil
from dataclasses import replace

import pytest

from gateway.policies import stem
from gateway.students import files
from lab.console.launches.forms import LaunchForm, initial, uploaded
from lab.console.race.forms import BEGINS_WITH, RaceForm
from lab.console.site import own_policies
from lab.console.site.allowances import TEACHER, AllowanceError
from lab.console.watch.forms import PolicyForm, in_force
from lab.errors import SpecError
from lab.spec.experiment import load_spec
from lab.students.scoreboard import Board, alike
from tests.gateway.students.policies import source
from tests.lab.console import programs
from tests.lab.students.test_scoreboard import row


@pytest.fixture
def path(tmp_path, monkeypatch):
    """A policy in the folder that the console lists."""
    folder = tmp_path / "own"
    folder.mkdir()
    monkeypatch.setattr(own_policies, "FOLDER", folder)
    path = folder / "plain.py"
    path.write_text(source())
    (folder / "test_plain.py").write_text("")
    return str(path)


def test_every_form_offers_it_by_its_stem(path):
    for form in (LaunchForm(), RaceForm(), PolicyForm({"policy": "sq"})):
        field = form.fields["policies" if "policies" in form.fields else "policy"]
        assert (path, "plain (own)") in list(field.choices)
        assert not any("test_plain" in name for name, _ in field.choices)


def test_a_race_takes_it(path):
    form = RaceForm(BEGINS_WITH | {"policies": ["sq", path], "engine": "simulated"})
    spec = form.spec()
    assert spec is not None, form.errors
    assert spec.title == "Race: SQ, plain"
    assert [choice.key for choice in spec.policy] == ["sq", "plain"]


def test_a_switch_sends_its_text_and_parameters(path):
    form = PolicyForm({"policy": path, "admission": "none", "capacity": "9"})
    call = form.call()
    assert call is not None, form.errors
    assert (call["name"], call["source"], call["parameters"]) == (path, source(), {"capacity": 9})


def test_what_is_wrong_with_it_stands_in_the_form(path, tmp_path):
    (tmp_path / "own" / "plain.py").write_text("import os\n")
    form = PolicyForm({"policy": path, "admission": "none"})
    assert form.call() is None
    assert "line 1: import os" in str(form.errors["policy"])


def test_no_path_comes_from_a_browser(path, tmp_path):
    elsewhere = tmp_path / "elsewhere.py"
    elsewhere.write_text(source())
    form = PolicyForm({"policy": str(elsewhere), "admission": "none"})
    assert form.call() is None
    assert own_policies.sheet_of(str(elsewhere)) is None
    assert "policies" in RaceForm(BEGINS_WITH | {"policies": ["sq", str(elsewhere)]}).errors


def test_more_own_policies_than_allowed_are_refused_at_their_field(path, monkeypatch):
    """The limit comes before the files: neither the form nor a sent spec reads them."""
    read = []
    monkeypatch.setattr(files, "read", read.append)
    allowance = replace(TEACHER, own_policies_per_launch=0)
    said = "Own policies in one launch: 1; allowed: 0"
    form = LaunchForm(initial(load_spec("first-look")) | {"policies": ["sq", path]})
    assert form.spec(load_spec("first-look"), allowance) is None
    assert list(form.errors) == ["policies"]
    assert form.errors["policies"][0].startswith(said)
    text = f"version = 1\n[[policy]]\nname = '{path}'\n"
    with pytest.raises(AllowanceError, match=said):
        uploaded("mine.toml", text.encode(), allowance)
    assert not read


def test_a_launch_has_the_limit_of_the_form(tmp_path):
    """Two parameters of one own policy count once."""
    (tmp_path / "plain.py").write_text(source())
    own = {"name": str(tmp_path / "plain.py")}
    program = f"""
from lab.console.launches.submission import of_spec
from lab.spec.experiment import changed, load_spec
spec = changed(load_spec("first-look"), policy=[{own!r}, {own | {"label": "again"}!r}])
from dataclasses import replace
launched = of_spec(spec).launch(replace(STUDENT, own_policies_per_launch=1)).title
try:
    of_spec(spec).launch(replace(STUDENT, own_policies_per_launch=0))
except AllowanceError as fault:
    print(json.dumps([launched, str(fault)]))
"""
    launched, refusal = programs.told(tmp_path, program)
    assert launched
    assert refusal.startswith("Own policies in one launch: 1; allowed: 0 for a student.")


@pytest.mark.parametrize("digest", ["", f"sha256 = '{'0' * 64}'\n"])
def test_no_path_comes_in_a_spec_that_is_sent(path, tmp_path, digest, monkeypatch):
    read = []
    monkeypatch.setattr(files, "read", read.append)
    elsewhere = tmp_path / "elsewhere.py"
    elsewhere.write_text(source())
    text = f"version = 1\n[[policy]]\nname = '{elsewhere}'\n{digest}"
    with pytest.raises(SpecError, match=r"is not offered here; allowed: .*plain.py"):
        uploaded("mine.toml", text.encode(), TEACHER)
    assert not read


def test_a_spec_that_is_sent_may_name_what_is_offered(path):
    text = f"version = 1\n[[policy]]\nname = '{path}'\n[[policy]]\nname = 'sq'\n"
    assert [one.key for one in uploaded("mine.toml", text.encode(), TEACHER).policy] == [
        "plain",
        "sq",
    ]


def test_what_is_in_force_is_chosen_by_its_path():
    policy = {"name": "plain", "file": "own/plain.py", "parameters": {"capacity": 3},
              "admission": {"name": "none", "parameters": {}}}  # fmt: skip
    assert in_force(policy)["policy"] == "own/plain.py"
    assert stem("own/plain.py") == "plain"


def test_the_scoreboard_shows_what_is_kept(console):
    folder = console.results / "scoreboard"
    made = {"result": "20260101T000000Z-scoreboard", "played_at": "2026-01-01T00:00:00+00:00"}
    rows = [row("good", 0.9, **made), row("lost", 0.5, fallen_back="line 7: 1 / 0", **made)]
    Board(alike(), rows).write(folder)
    try:
        text = console.get("/scoreboard/").text
    finally:
        shutil.rmtree(folder)
    assert re.findall(r'<th scope="row">(\d)</th><td>([a-z*]+)</td>', text) == [
        ("1", "good"), ("2", "lost*"),
    ]  # fmt: skip
    assert (
        "lost by somebody stopped working during a run, and FIFO replaced it until the end of the "
        "run: line 7: 1 / 0" in text
    )

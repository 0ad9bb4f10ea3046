"""Students' policies in specs: named by path, meant by text, kept with the result."""

import pytest

from gateway.students import files
from lab.analysis.warnings import honesty
from lab.cli.experiment_options import with_options
from lab.engines.live.run import policy_call
from lab.errors import SpecError
from lab.files.run_folder import RunFolder
from lab.results.comparison import ComparisonResult
from lab.runner.simulated import make_packed_run, make_simulated_run
from lab.spec import own_policies
from lab.spec.experiment import Spec, checked, read_spec
from lab.spec.runs import ShopRun
from tests.gateway.students.policies import source

SIMULATED = "version = 1\nengine = 'simulated'\n[load]\nrho = [1.4]\nsessions = 40\n"


@pytest.fixture
def path(tmp_path, monkeypatch):
    """A policy's file, in a process that knows no other."""
    monkeypatch.setattr(files, "remembered", type(files.remembered)())
    path = tmp_path / "plain_queue.py"
    path.write_text(source())
    return path


def spec_of(path, more=""):
    text = f"{SIMULATED}[[policy]]\nname = '{path}'\n{more}"
    return checked(read_spec(text, "mine"), "mine")


def test_a_spec_keeps_path_and_text(path):
    spec = spec_of(path, "parameters = {capacity = 7}")
    (choice,) = spec.policy
    assert (choice.key, choice.policy_name, choice.name) == ("plain_queue",) * 2 + (str(path),)
    assert choice.sha256 == choice.file.sha256
    assert f'sha256 = "{choice.sha256}"' in spec.to_toml()
    assert read_spec(spec.to_toml(), "again") == spec
    policy = choice.create()
    assert policy.name == "plain_queue"
    assert policy.snapshot()["queues"] == {"all": 0}


def test_who_goes_by_sessions_needs_them_from_the_answer_on(path):
    server = "[server]\nsession_known_from = 'admission'\n"
    spec_of(path, server)
    path.write_text(source().replace('source="a test",', 'source="a test", needs_sessions=True,'))
    with pytest.raises(SpecError, match="session_known_from: plain_queue recognises sessions"):
        spec_of(path, server)
    spec_of(path, server.replace("admission", "answer"))


def test_a_copy_that_is_too_large_for_a_policy_is_not_read(tmp_path, monkeypatch):
    monkeypatch.setattr(files, "remembered", type(files.remembered)())
    (tmp_path / "policies").mkdir()
    (tmp_path / "policies" / "large.py").write_text("#" * (files.MOST_BYTES + 1))
    (tmp_path / "policies" / "mine.py").write_bytes(b"x = 1\r\n")
    own_policies.remember_copies(tmp_path)
    assert [file.text for file in files.remembered.values()] == ["x = 1\r\n"]


def test_another_text_is_another_experiment_and_the_old_one_is_not_made_of_it(path, monkeypatch):
    before = spec_of(path)
    path.write_text(source() + "\n# better\n")
    assert spec_of(path).fingerprint != before.fingerprint
    monkeypatch.setattr(files, "remembered", type(files.remembered)())
    with pytest.raises(SpecError, match="has changed since its sha256 was recorded"):
        own_policies.of_spec(before)


def test_a_result_keeps_the_text_and_gives_it_back(path, tmp_path, monkeypatch):
    spec = spec_of(path)
    folder = ComparisonResult.create(tmp_path / "results", spec, {}, [])
    (copy,) = (folder.path / "policies").iterdir()
    assert (copy.name, copy.read_text()) == ("plain_queue.py", source())
    path.unlink()
    monkeypatch.setattr(files, "remembered", type(files.remembered)())
    with pytest.raises(SpecError, match="No such file"):
        own_policies.of_spec(spec)
    assert own_policies.of_spec(folder.spec())[0].text == source()


@pytest.mark.parametrize(
    ("text", "more", "words"),
    [
        (None, "", "policy.0.name: .*No such file.*allowed"),
        ("import os", "", "policy.0.name: .*line 1: import os: a policy must not use files"),
        ("x = 1", "", "policy.0.name: .*the file has no SHEET"),
        (source(), "parameters = {size = 1}", "policy.0.parameters.size: .*has no such parameter"),
        (source(), "parameters = {capacity = 0}", "parameters.capacity: .*out of range"),
        (source(), f"sha256 = '{'0' * 63}'", "policy.0.sha256"),
    ],
)
def test_a_fault_names_its_field(text, more, words, path):
    path.unlink()
    if text is not None:
        path.write_text(text)
    with pytest.raises(SpecError, match=words):
        spec_of(path, more)


def test_the_command_line_takes_a_path_beside_names(path):
    spec = with_options(Spec(engine="simulated"), {"policies": [str(path), "sq"]})
    assert [choice.key for choice in spec.policy] == ["plain_queue", "sq"]
    spec = with_options(spec, {"admission": ["sbac"]})
    assert [choice.key for choice in spec.policy] == ["plain_queue+sbac", "sq+sbac"]
    with pytest.raises(SpecError, match=r"--policies: name: .*No such file"):
        with_options(Spec(), {"policies": ["own/nowhere.py"]})
    with pytest.raises(SpecError, match=r"'nothing' is unknown; .* or the path of your policy"):
        with_options(Spec(), {"policies": ["nothing"]})


def test_the_gateway_is_sent_the_text(path):
    (choice,) = spec_of(path).policy
    call = policy_call(choice)
    assert (call["name"], call["source"]) == (str(path), source())
    assert "source" not in policy_call(Spec().policy[0])


def test_a_worker_elsewhere_decides_by_the_text_of_its_task(path, monkeypatch):
    spec = spec_of(path)
    task = {
        "run": ShopRun.of_spec(spec, "plain_queue", 1.4).as_json(),
        "seed": 1,
        "own": [file.text for file in own_policies.of_spec(spec)],
    }
    path.unlink()
    monkeypatch.setattr(files, "remembered", type(files.remembered)())
    assert "attempts.parquet" in make_packed_run(task)["files"]


def test_a_run_says_that_its_policy_was_given_up(path, tmp_path):
    path.write_text(source(workers_free="1 / (self.times < 20)"))
    spec = spec_of(path)
    run = ShopRun.of_spec(spec, "plain_queue", 1.4)
    summary = make_simulated_run(run, 1, RunFolder(tmp_path / "run"), lambda ended: None)
    assert "ZeroDivisionError" in summary.fallen_back.reason
    assert summary.reconciles
    cell = type("Cell", (), {"place": "here", "rho": None, "summaries": [summary], "runs": [],
                             "published": None})  # fmt: skip
    assert any(line.startswith("FELL BACK TO FIFO: here, seed 1, at ") for line in honesty([cell]))

"""The API of a real console with accounts: launches, results, the command line, a graded class."""

import csv
import io
import json
import re
import signal
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
import requests

from runtime.settings import REPOSITORY
from tests.lab.console.conftest import PATIENCE_S, SPEC, Console, run
from tests.lab.console.visitors import logged_in
from tests.openapi import Described
from tests.waiting import until

pytestmark = pytest.mark.long

SMALL = SPEC.format(title="By a program", seed=1, repetitions=1, sessions=50)


@dataclass
class Person:
    """A person with a token."""

    console: Console
    token: str

    def send(self, method: str, path: str, **more: Any) -> requests.Response:
        """Send a call of a program, without cookies."""
        headers = {"Authorization": f"Bearer {self.token}"} | more.pop("headers", {})
        return requests.request(
            method,
            self.console.url(path),
            headers=headers,
            verify=self.console.verify,
            timeout=PATIENCE_S,
            **more,
        )

    def doorbuster(
        self, *words: str, folder: Path = REPOSITORY
    ) -> subprocess.CompletedProcess[str]:
        """Run a command with this person's token."""
        return self.program("-m", "doorbuster", *words, *self.server, folder=folder)

    @property
    def server(self) -> list[str]:
        """The options that name the console."""
        return ["--server", self.console.url(""), "--authority", str(self.console.authority)]

    @property
    def environment(self) -> dict[str, str]:
        """The variables of a program with this person's token."""
        return {**self.console.environment, "DOORBUSTER_TOKEN": self.token}

    def program(self, *words: str, folder: Path = REPOSITORY) -> subprocess.CompletedProcess[str]:
        """Run a Python program with this person's token."""
        return subprocess.run(
            [sys.executable, *words],
            cwd=folder,
            env=self.environment,
            capture_output=True,
            text=True,
            timeout=PATIENCE_S,
        )


def person(classroom: Console, name: str, password: str) -> Person:
    """A person who has made a token on the page."""
    made = logged_in(classroom, name, password).post("/tokens/", {"name": "test"}).text
    found = re.search(r'id="token">([^<]+)<', made)
    assert found, made
    return Person(classroom, found[1])


@pytest.fixture(scope="module")
def people(classroom: Console) -> tuple[Person, Person]:
    """A teacher and a student with tokens."""
    anna = run(classroom, "teacher", "anna").stdout.strip().split(",")[1]
    teacher = person(classroom, "anna", anna)
    made = teacher.send("POST", "/api/accounts", json={"names": ["bert", "carla"]})
    assert made.status_code == 201, made.text
    bert = next(one["password"] for one in made.json()["made"] if one["name"] == "bert")
    return teacher, person(classroom, "bert", bert)


@pytest.fixture(scope="module")
def done(classroom: Console, people: tuple[Person, Person]) -> dict[str, Any]:
    """A launch of the student that is done."""
    classroom.start_workers()
    _, bert = people
    made = bert.send(
        "POST", "/api/launches", data=SMALL, headers={"Content-Type": "application/toml"}
    )
    assert made.status_code == 201, made.text
    path = f"/api/launches/{made.json()['id']}"
    until(lambda: bert.send("GET", path).json()["state"] == "done", "a launch that is done")
    return dict(bert.send("GET", path).json())


@pytest.fixture(scope="module")
def described(classroom: Console) -> Described:
    """The console's own description."""
    return Described(
        requests.get(
            classroom.url("/api/openapi.json"), verify=classroom.verify, timeout=PATIENCE_S
        ).json()
    )


def test_every_call_is_described(described: Described) -> None:
    assert len(described.calls) >= 18


def test_answers_are_as_described(
    described: Described, people: tuple[Person, Person], done: dict[str, Any]
) -> None:
    teacher, bert = people
    result = f"/api/results/{done['result']}"
    note, named = {"text": "Many left."}, "/api/results/{name}"
    for one, method, path, form, body, status in (
        (bert, "GET", "/api/me", "", None, 200),
        (bert, "GET", "/api/experiments", "", None, 200),
        (bert, "GET", "/api/launches?by=bert", "/api/launches", None, 200),
        (bert, "GET", "/api/launches/999", "/api/launches/{id}", None, 404),
        (bert, "GET", "/api/results", "", None, 200),
        (bert, "GET", "/api/results?page=0", "/api/results", None, 400),
        (bert, "GET", result, named, None, 200),
        (bert, "GET", "/api/results/none", named, None, 404),
        (bert, "POST", f"{result}/notes", f"{named}/notes", note, 201),
        (bert, "POST", f"{result}/notes", f"{named}/notes", {"text": ""}, 400),
        (bert, "GET", f"{result}/notes", f"{named}/notes", None, 200),
        (bert, "GET", "/api/scoreboard", "", None, 200),
        (bert, "GET", "/api/accounts", "", None, 403),
        (teacher, "GET", "/api/accounts", "", None, 200),
        (bert, "POST", "/api/launches", "", {"name": "none"}, 400),
        (bert, "POST", "/api/launches", "", {"toml": "title = 1"}, 400),
        (bert, "POST", "/api/launches", "", {"spec": {"policy": [{"name": "x"}]}}, 400),
    ):
        answer = one.send(method, path, json=body)
        assert answer.status_code == status, (path, answer.text)
        assert described.faults(method, form or path, status, answer.json()) == [], path


def test_a_shipped_experiment_takes_options(people: tuple[Person, Person]) -> None:
    _, bert = people
    options = {"engine": "simulated", "rho": [1.4, 2], "sessions": 60, "title": "With options"}
    made = bert.send("POST", "/api/launches", json={"name": "lifo-pri", "options": options})
    assert made.status_code == 201, made.text
    assert (made.json()["title"], made.json()["by"]) == ("With options", "bert")
    bert.send("POST", f"/api/launches/{made.json()['id']}/cancel")
    for wrong, field, allowed in (
        ({"sessions": 0}, "options.sessions", "1 to 1,000,000"),
        ({"policies": ["none"]}, "options.policies", "8q-lifo-pri"),
        ({"colour": "red"}, "options.colour", "policies"),
    ):
        refused = bert.send("POST", "/api/launches", json={"name": "lifo-pri", "options": wrong})
        assert refused.status_code == 400, refused.text
        assert refused.json()["field"] == field
        assert allowed in refused.json()["allowed"]


def test_a_bundle_travels_by_the_command_line(
    people: tuple[Person, Person], done: dict[str, Any], tmp_path: Path
) -> None:
    _, bert = people
    listed = bert.doorbuster("results", "list", "--json")
    assert listed.returncode == 0, listed.stderr
    mine = next(one for one in json.loads(listed.stdout) if one["name"] == done["result"])
    assert (mine["by"], mine["origin"], mine["made"]) == ("bert", "here", mine["planned"])
    exported = bert.doorbuster("results", "export", done["result"], folder=tmp_path)
    assert exported.returncode == 0, exported.stderr
    bundle = tmp_path / f"{done['result']}.zip"
    again = bert.doorbuster("results", "import", str(bundle))
    assert (again.returncode, "the lab already has" in again.stderr) == (2, True), again.stderr
    (tmp_path / "token").write_text("wrong\n")
    refused = bert.doorbuster("results", "list", "--token-file", str(tmp_path / "token"))
    assert (refused.returncode, refused.stderr.count("\n")) == (2, 1)
    assert "token is invalid" in refused.stderr


def test_a_launch_is_followed_at_a_terminal(
    people: tuple[Person, Person], done: dict[str, Any], tmp_path: Path
) -> None:
    teacher, _ = people
    spec = tmp_path / "small.toml"
    spec.write_text(SMALL)
    made = teacher.doorbuster("launch", str(spec), "--rho", "2")
    assert made.returncode == 0, made.stderr
    assert "Launched: https://" in made.stdout
    assert re.search(r"Result: https://\S+/results/\S+/", made.stdout)


def test_a_comparison_on_a_console_ends_like_one_here(
    people: tuple[Person, Person], done: dict[str, Any], tmp_path: Path
) -> None:
    """Verdict and headline table are those of the same command without `--server`."""
    teacher, _ = people
    spec = tmp_path / "small.toml"
    spec.write_text(SMALL.replace("= 50", "= 80"))
    there = teacher.doorbuster("simulate", str(spec))
    assert there.returncode == 0, there.stderr
    assert re.match(r"Launched: https://\S+/launches/\w+/\n(waiting|running)", there.stdout)
    page, _, conclusion = there.stdout.partition("\n\n")
    assert re.search(r"^Result: https://\S+/results/\S+/$", page, re.MULTILINE)
    here = teacher.program("-m", "doorbuster", "simulate", str(spec), "--quiet", "--fresh")
    assert here.returncode == 0, here.stderr
    assert "Who sells" in conclusion
    assert here.stdout.endswith(conclusion)
    told = teacher.doorbuster("compare", str(spec), "--rho", "2", "--json")
    assert told.returncode == 0, told.stderr
    found = json.loads(told.stdout)
    assert (found["engine"], found["tables"][0]["title"]) == ("simulated", "Who sells")
    assert "Launched: " in told.stderr
    for words, status, error in (
        (("--fresh",), 2, "--fresh: does not apply to a console"),
        (("--processes", "2"), 2, "--processes: does not apply to a console"),
        (("--policies", "own/none.py"), 2, "own/none.py"),
    ):
        refused = teacher.doorbuster("simulate", str(spec), *words)
        assert (refused.returncode, refused.stderr.count("\n")) == (status, 1), refused.stderr
        assert error in refused.stderr


def test_a_launch_goes_on_after_ctrl_c(people: tuple[Person, Person], tmp_path: Path) -> None:
    """The last line has the page where the launch is seen and cancelled; the status is 130."""
    _, bert = people
    spec = tmp_path / "long.toml"
    spec.write_text(SPEC.format(title="Goes on", seed=1, repetitions=9, sessions=20_000))
    words = [sys.executable, "-m", "doorbuster", "launch", str(spec), *bert.server]
    with subprocess.Popen(
        words, cwd=REPOSITORY, env={**bert.environment, "PYTHONUNBUFFERED": "1"},
        stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
    ) as program:  # fmt: skip
        assert program.stdout is not None
        address = program.stdout.readline().removeprefix("Launched: ").strip()
        program.send_signal(signal.SIGINT)
        _, said = program.communicate(timeout=PATIENCE_S)
    server = bert.console.url("")
    assert program.returncode == 130
    assert said == (
        f"\nInterrupted. The launch goes on at {server}; to see or cancel it: {address}\n"
    )
    path = address.replace(f"{server}/launches/", "/api/launches/").removesuffix("/")
    assert bert.send("GET", path).json()["state"] in ("queued", "running")
    assert bert.send("POST", f"{path}/cancel").status_code == 200


def test_the_example_grades_a_class(people: tuple[Person, Person], done: dict[str, Any]) -> None:
    teacher, bert = people
    script = str(REPOSITORY / "docs/examples/grade_class.py")
    words = (script, teacher.console.url(""), "--authority", str(teacher.console.authority))
    graded = teacher.program(*words)
    assert graded.returncode == 0, graded.stderr
    rows = {row["name"]: row for row in csv.DictReader(io.StringIO(graded.stdout))}
    assert sorted(rows) == ["bert", "carla"]
    assert int(rows["bert"]["complete results"]) >= 1
    assert rows["carla"]["complete results"] == "0"
    assert float(rows["bert"]["points"]) > 0 == float(rows["carla"]["points"])
    refused = bert.program(*words)
    assert refused.returncode == 1
    assert "Only a teacher can see and change accounts." in refused.stderr
    assert teacher.token not in teacher.console.log.read_text()


def test_limits_are_those_of_the_pages(people: tuple[Person, Person], done: dict[str, Any]) -> None:
    teacher, bert = people
    many = bert.send(
        "POST", "/api/launches", json={"toml": SMALL.replace("= 1\n[[", "= 999999\n[[", 1)}
    )
    live = bert.send("POST", "/api/launches", json={"toml": SMALL.replace('"simulated"', '"live"')})
    assert (many.status_code, live.status_code) in ((403, 409), (400, 409)), many.text + live.text
    assert "only a teacher can run live experiments; allowed: simulated" in live.json()["error"]
    large = bert.send("POST", "/api/launches", data=b"x" * 3_000_000)
    assert large.status_code == 413
    assert "at most" in large.json()["allowed"]
    zipped = {"Content-Type": "application/zip"}
    bundle = bert.send("POST", "/api/results", data=b"no zip", headers=zipped)
    assert (bundle.status_code, bundle.json()["field"]) == (400, "bundle")
    body = {"toml": "title = 1"}
    sent = [bert.send("POST", "/api/launches", json=body) for _ in range(11)]
    assert sent[-1].status_code == 429
    assert int(sent[-1].headers["Retry-After"]) > 0
    assert teacher.send("POST", "/api/launches", json=body).status_code == 400

"""The commands `doorbuster live …`, in front of a server that answers as gateway and shop."""

import json
from collections.abc import Iterator

import pytest
from click.testing import CliRunner, Result

from doorbuster.commands import main
from lab.engines.live.announcement import RunAnnouncement
from lab.results.comparison import ComparisonResult
from lab.runner import comparison
from lab.spec.experiment import Spec
from runtime import settings
from tests.fake_shop.server import Reply, Request, fake_server

SPEC = Spec.model_validate(
    {
        "title": "A rush",
        "policy": [{"name": "sq"}, {"name": "8q-lifo-pri"}],
        "load": {"rho": [2.0], "sessions": 100},
    }
)


@pytest.fixture
def asked(monkeypatch, tmp_path) -> Iterator[list[tuple[str, str, object]]]:
    """The method, path and body of every request that gateway and shop receive."""
    found: list[tuple[str, str, object]] = []

    def answer(request: Request) -> Reply:
        found.append((request.method, request.path, json.loads(request.body)))
        return Reply(b"{}", headers={"Connection": "close"}, closes=True)

    with fake_server(answer) as gateway, fake_server(answer) as shop:
        monkeypatch.setenv("DOORBUSTER_GATEWAY_ADMIN_PORT", str(gateway.port))
        monkeypatch.setenv("DOORBUSTER_SHOP_CONTROLLER_PORT", str(shop.port))
        monkeypatch.setenv("DOORBUSTER_STATE_DIR", str(tmp_path / "state"))
        monkeypatch.setenv("DOORBUSTER_RESULTS_DIR", str(tmp_path / "results"))
        yield found


@pytest.fixture
def run(asked) -> Iterator[RunAnnouncement]:
    """A live run that has announced itself."""
    lab = settings.load()
    folder = ComparisonResult.create(lab.results_dir, SPEC, {}, comparison.plan(SPEC))
    planned, *_ = folder.plan()
    folder.run(planned).path.mkdir(parents=True)
    told = RunAnnouncement(lab.state_dir, {"experiment": folder.path.name, "run": planned.folder})
    yield told
    told.close()


def said(*words: str, status: int = 0) -> str:
    """Return what `doorbuster live WORDS` prints."""
    done: Result = CliRunner().invoke(main, ["live", *words])
    assert done.exit_code == status, done.output
    return done.output


def test_the_gateway_gets_another_policy(asked):
    """Parameters and admission go with it. Without a run, the message says how long it lasts."""
    words = said("policy", "sq", "--set", "capacity=7", "--admission", "sbac-responsive")
    assert words.endswith(
        "No run is in progress. The next run replaces this setting when it begins.\n"
    )
    ((method, path, body),) = asked
    assert (method, path) == ("PUT", "/policy")
    assert body == {
        "name": "sq",
        "parameters": {"capacity": 7},
        "admission": {"name": "sbac-responsive", "parameters": {}},
    }


@pytest.mark.parametrize(
    ("words", "named"),
    [
        (["policy", "nope"], "POLICY: name: 'nope' is unknown; allowed: sq"),
        (["policy", "sq", "--set", "places=7"], "allowed: capacity"),
        (["policy", "sq", "--set", "capacity=many"],
         "must be NAME=VALUE; allowed values: a number"),
        (["load", "30"], "not in the range 0<=x<=10"),
        (["load", "abc"], "'FACTOR': 'abc' is not a number; allowed: a number from 0 to 10\n"),
        (["load", "nan"], "'nan' is not a finite number"),
        (["fault", "slow-database", "--for", "x"], "allowed: a number from 10 to 600\n"),
        (["abandonment", "forget"], "'ignore', 'drop-queued', 'cancel'"),
    ],
)  # fmt: skip
def test_an_invalid_change_names_what_is_allowed(asked, words, named):
    assert named in said(*words, status=2)
    assert asked == []


def test_leaving_changes_in_gateway_and_shop(asked, run):
    assert said("abandonment", "cancel").endswith(" UTC.\n")
    assert [(path, body) for _, path, body in asked] == [
        ("/settings", {"sentry": "cancel"}),
        ("/settings", {"abandonment": "cancel"}),
    ]


def test_a_load_is_applied_once_the_customers_have_it(run):
    run.tell({"planned": 100, "started": 60, "load_changes": [{"at_s": 5.0, "factor": 2.0}]})
    assert said("load", "2").startswith("Applied at ")
    run.tell({"planned": 100, "started": 100, "load_changes": []})
    assert "All customers of this run have arrived" in said("load", "3", status=1)
    run.close()
    assert "No run is in progress" in said("load", "2", status=1)


def test_a_fault_is_caused_for_a_time(asked, run):
    assert said("fault", "slow-database", "--for", "50").startswith("Begun at ")
    assert asked == [("PUT", "/slow-database", {"for_s": 50.0})]
    assert "10.0<=x<=600.0" in said("fault", "slow-database", "--for", "601", status=2)
    assert "slow-database" in said("fault", "disk", status=2)
    assert len(asked) == 1


def test_a_fault_without_a_run_says_how_it_ends(asked):
    assert "The next run ends this fault when it begins" in said("fault", "slow-database")

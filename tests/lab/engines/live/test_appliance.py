import contextlib

import pytest

from gateway.policies import ADMISSIONS, POLICIES, registry
from lab.engines.live.appliance import Appliance, JsonApi
from lab.errors import ExperimentError
from lab.runner.live import surroundings
from lab.spec.experiment import Spec
from lab.spec.sections import PolicyChoice
from runtime.native import postgres_cpus
from runtime.settings import load
from tests.fake_shop.server import FakeServer, Reply, Request, fake_server


def refusing(request: Request) -> Reply:
    """Answer by path."""
    body = b"<html>" if request.path == "/html" else b'{"error": "policy: no", "n": 1}'
    return Reply(body, 400 if request.path == "/refused" else 200)


@pytest.fixture
def api():
    with fake_server(refusing) as server:
        found = JsonApi("The part", "127.0.0.1", server.port)
        yield found
        found.close()


def test_a_refusal_is_passed_on(api):
    with pytest.raises(ExperimentError, match="The part refused GET /refused: policy: no"):
        api.call("GET", "/refused")


def test_html_is_no_answer(api):
    with pytest.raises(ExperimentError, match="make up"):
        api.call("GET", "/html")


def test_nobody_there_names_the_mend():
    with pytest.raises(ExperimentError, match=r"127\.0\.0\.1:1 .*make up"):
        JsonApi("The part", "127.0.0.1", 1).call("GET", "/")


@pytest.mark.parametrize(
    ("given", "url"),
    [
        ({}, "http://127.0.0.1:8080"),
        ({"HOST": "0.0.0.0"}, "http://127.0.0.1:8080"),
        ({"HOST": "localhost"}, "http://localhost:8080"),
        ({"HOST": "::"}, "http://[::1]:8080"),
        ({"GATEWAY_HOST": "gateway"}, "http://gateway:8080"),
        ({"GATEWAY_HOST": "10.0.0.5", "HOST": "10.0.0.4"}, "http://10.0.0.5:8080"),
    ],
)
def test_load_goes_to_this_machine_or_to_the_gateway_that_is_named(given, url, tmp_path):
    given = {f"DOORBUSTER_{name}": host for name, host in given.items()}
    appliance = Appliance(load(given, tmp_path))
    appliance.check_may_be_loaded()
    assert appliance.url == url


@pytest.mark.parametrize("host", ["10.0.0.5", "127.evil.example", "example.org"])
def test_load_goes_to_nobody_else(host, tmp_path):
    appliance = Appliance(load({"DOORBUSTER_HOST": host}, tmp_path))
    with pytest.raises(
        ExperimentError, match=r"only to this machine .loopback.*DOORBUSTER_GATEWAY_HOST"
    ):
        appliance.check_may_be_loaded()


def test_a_host_that_nobody_knows_names_the_variable(tmp_path):
    # RFC 2606: no such name will ever be.
    names = {"DOORBUSTER_GATEWAY_HOST": "gateway.invalid", "DOORBUSTER_SHOP_HOST": "shop.invalid"}
    appliance = Appliance(load(names, tmp_path))
    for part, variable in zip((appliance.gateway, appliance.shop), names, strict=True):
        with pytest.raises(ExperimentError, match=rf"{names[variable]}:\d+ .*{variable} must be"):
            part.call("GET", "/")


class Recorded(FakeServer):
    """Gateway and shop in one, which answer as they do."""

    def __init__(self):
        super().__init__(self._answer)
        self.books, self.policies = 4309, registry.describe(POLICIES)

    def _answer(self, request: Request):
        if request.path == "/catalogue":
            self.books = request.json["books"]
        answers = {
            "/snapshot": {"waiting": 0, "in_service": 0},
            "/status": {"books": self.books},
            "/policies": self.policies,
            "/admissions": registry.describe(ADMISSIONS),
        }
        return answers.get(request.path, {})

    def bodies(self, path):
        """Return the bodies that were sent to this path."""
        return [request.json for request in self.requests if request.path == path]


@pytest.fixture
def recorded():
    with Recorded().serving() as server:
        yield server


@pytest.fixture
def appliance_of(recorded, tmp_path):
    lab = load().changed(
        gateway_admin_port=recorded.port,
        shop_controller_port=recorded.port,
        state_dir=tmp_path,  # where no PostgreSQL runs
    )
    found = Appliance(lab)
    yield found
    found.gateway.close()
    found.shop.close()


@pytest.mark.parametrize(
    ("abandonment", "sentry"), [("ignore", "watch"), ("drop-queued", "watch"), ("cancel", "cancel")]
)
def test_the_sentry_stops_work_only_when_leaving_cancels(
    appliance_of, recorded, abandonment, sentry
):
    appliance_of.prepare(
        policy={"name": "sq"},
        profile="paper",
        time_scale=10,
        utilisation_interval_s=1,
        seed=3,
        abandonment=abandonment,
    )
    shop, gateway = recorded.bodies("/settings")
    assert shop == {"profile": "paper", "time_scale": 10, "seed": 3, "sentry": sentry, "ads": False}
    assert gateway["abandonment"] == abandonment


def test_a_gateway_that_lacks_a_policy_is_found_out_at_once(appliance_of, recorded):
    guarded = PolicyChoice(name="sq", admission="sbac", parameters={"capacity": 9})
    appliance_of.check_knows([PolicyChoice(name="8q-af"), guarded])
    sheets = registry.describe(POLICIES)
    recorded.policies = [sheet for sheet in sheets if sheet["name"] != "8q-af"]
    appliance_of.check_knows([guarded])
    with pytest.raises(ExperimentError, match=r"(?s)does not know .*8q-af.*make up"):
        appliance_of.check_knows([guarded, PolicyChoice(name="8q-af")])
    recorded.policies = [{"name": "sq", "parameters": []}]  # as it was before it had one
    with pytest.raises(ExperimentError, match=r"does not know .*sq\+sbac"):
        appliance_of.check_knows([guarded])


def test_lists_of_the_gateway_are_fetched_once(appliance_of, recorded):
    """Each list is fetched once for all policies, and only if a policy needs it."""
    appliance_of.check_knows([PolicyChoice(name="sq"), PolicyChoice(name="8q-af")])
    assert [request.path for request in recorded.requests] == ["/policies"]
    guarded = [PolicyChoice(name=name, admission="sbac") for name in ("sq", "8q-af")]
    appliance_of.check_knows(guarded)
    later = [request.path for request in recorded.requests[1:]]
    assert sorted(later) == ["/admissions", "/policies"]


def asked_for(recorded):
    """Return the sizes of the catalogue that were requested."""
    return [body["books"] for body in recorded.bodies("/catalogue")]


def test_the_catalogue_is_what_the_spec_says_or_what_the_shop_is_set_to(appliance_of, recorded):
    with surroundings(appliance_of, Spec()):
        assert asked_for(recorded) == []  # it is there already
    with surroundings(appliance_of, Spec(catalogue_books=9000)):
        assert asked_for(recorded) == [9000]
    with surroundings(appliance_of, Spec(catalogue_books=9000)):
        assert asked_for(recorded) == [9000]
    with surroundings(appliance_of, Spec()):
        assert asked_for(recorded) == [9000, appliance_of.lab.catalogue_books]


def test_afterwards_the_shop_is_for_people_again(appliance_of, recorded):
    with surroundings(appliance_of, Spec()):
        recorded.requests.clear()
    shop, gateway = recorded.bodies("/settings")
    assert shop == {"profile": "paper", "ads": True, "sentry": "watch"}
    assert gateway == {"abandonment": "ignore"}


def test_a_database_that_may_not_be_moved_is_an_error(appliance_of):
    with surroundings(appliance_of, Spec()):
        pass  # it is where it is
    with (
        pytest.raises(ExperimentError, match=r"database_cpus.*set database_cpus to"),
        surroundings(appliance_of, Spec(database_cpus="shop")),
    ):
        pytest.fail("nothing is run")


@pytest.mark.parametrize("fault", [None, ExperimentError("no"), KeyboardInterrupt()])
def test_the_database_goes_back_however_it_ends(appliance_of, monkeypatch, fault):
    moves = []
    monkeypatch.setattr(postgres_cpus, "move", lambda lab, where: not moves.append(where))
    expected = pytest.raises(type(fault)) if fault else contextlib.nullcontext()
    with expected, surroundings(appliance_of, Spec(database_cpus="shop")):
        assert moves == ["shop"]
        if fault:
            raise fault
    assert moves == ["shop", "other"]

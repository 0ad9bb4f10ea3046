"""Baseline proxies in specs and on the command line."""

import os

import pytest

from lab.baselines.process import SYSTEM_PATH, check
from lab.cli.experiment_options import with_options
from lab.errors import ExperimentError, SpecError
from lab.runner.expectation import Expectation
from lab.spec.experiment import Spec, checked, load_spec, read_spec
from runtime import settings

PROXY = "[[policy]]\ngateway = '{}'\n"


def spec(text):
    return checked(read_spec(f"version = 1\n{text}", "mine"), "mine")


def test_a_proxy_stands_among_policies_and_survives_a_round_trip():
    found = spec(PROXY.format("haproxy") + PROXY.format("nginx") + "[[policy]]\nname = 'sq'\n")
    assert [(choice.key, choice.name, choice.gateway) for choice in found.policy] == [
        ("haproxy", "haproxy", "haproxy"),
        ("nginx", "nginx", "nginx"),
        ("sq", "sq", None),
    ]
    assert read_spec(found.to_toml(), "again") == found


def test_the_gateway_itself_may_be_named_and_leaves_the_spec_as_it_is():
    named = spec("[[policy]]\nname = 'sq'\ngateway = 'doorbuster'\n")
    assert named == spec("[[policy]]\nname = 'sq'\n")
    assert "gateway" not in named.to_toml()


def test_an_admission_for_all_is_for_those_who_can_have_one():
    found = spec("admission = 'sbac'\n[[policy]]\nname = 'sq'\n" + PROXY.format("haproxy"))
    assert [choice.admission for choice in found.policy] == ["sbac", "none"]


@pytest.mark.parametrize(
    ("text", "field", "hint"),
    [
        (PROXY.format("apache"), "policy.0.gateway", "'doorbuster' or 'haproxy' or 'nginx'"),
        (PROXY.format("nginx") + "name = 'sq'", "policy.0.name", "leave name out"),
        (PROXY.format("nginx") + "admission = 'sbac'", "policy.0.admission", "allowed: 'none'"),
        (PROXY.format("haproxy") + "parameters = {x = 1}", "parameters.x", "allowed: maxconn"),
        (PROXY.format("haproxy") + "abandonment = 'drop-queued'", "abandonment", "ignore, cancel"),
        ("engine = 'simulated'\n" + PROXY.format("nginx"), "policy", "engine = 'live'"),
        (
            "at_once = true\n[[policy]]\nname = 'sq'\n" + PROXY.format("nginx"),
            "at_once",
            "or the baseline proxies",
        ),
        (
            PROXY.format("nginx") + "[clients]\n[load]\nduration_s = 60",
            "policy",
            "parameters.rate_rps",
        ),
    ],
)
def test_what_cannot_be_meant_names_the_field_and_what_is_allowed(text, field, hint):
    with pytest.raises(SpecError) as fault:
        spec(text)
    (line,) = str(fault.value).splitlines()
    assert f"{field}: " in line
    assert hint in line


def test_haproxy_serves_a_closed_loop_too():
    assert spec(PROXY.format("haproxy") + "[clients]\n[load]\nduration_s = 60").clients


def keys(base=None, **given):
    return [choice.key for choice in with_options(base or Spec(), given).policy]


def test_a_gateway_is_run_alone_or_beside_the_policies_that_are_named():
    assert keys(gateway=["haproxy"]) == ["haproxy"]
    assert keys(gateway=["haproxy", "nginx"]) == ["haproxy", "nginx"]
    assert keys(gateway=["nginx"], policies=["sq"]) == ["sq", "nginx"]
    assert keys(gateway=["doorbuster", "nginx"]) == ["sq", "8q-af", "8q-lifo-pri", "nginx"]
    beside = keys(gateway=["haproxy"], policies=["sq"], admission=["none", "sbac"])
    assert sorted(beside) == ["haproxy", "sq", "sq+sbac"]
    both = keys(gateway=["haproxy"], abandonment=["ignore", "cancel"])
    assert both == ["haproxy", "haproxy+cancel"]


def test_a_proxy_is_as_the_spec_has_it():
    own = {"gateway": "haproxy", "parameters": {"maxconn": 8}, "label": "few hands"}
    base = Spec.model_validate({"policy": [{"name": "sq"}, own]})
    assert keys(base, gateway=["haproxy"]) == ["few hands"]
    assert keys(base, gateway=["haproxy"], policies=["sq", "few hands"]) == ["sq", "few hands"]
    assert keys(base, policies=["few hands"]) == ["few hands"]


@pytest.mark.parametrize(
    ("given", "hint"),
    [
        ({"gateway": ["apache"]}, "allowed: doorbuster, haproxy, nginx"),
        ({"policies": ["haproxy"]}, "give --gateway haproxy"),
        ({"gateway": ["haproxy"], "admission": ["sbac"]}, "add 'none' to the list"),
        ({"gateway": ["haproxy"], "engine": "simulated"}, "allowed only with engine = 'live'"),
        ({"gateway": ["haproxy"], "abandonment": ["drop-queued"]}, "allowed: ignore, cancel"),
    ],
)
def test_a_wrong_option_says_what_is_allowed(given, hint):
    with pytest.raises(SpecError, match=hint):
        with_options(Spec(), given)


def test_the_live_leaderboard_has_default_and_tuned_rows_under_the_same_conditions():
    found = load_spec("live-leaderboard")
    keys = [choice.key for choice in found.policy]
    assert {"door-lifo", "8q-lifo-pri", "sq", "sq+sbac-hybrid", "aimd", "Fixed limit, 40"} < set(
        keys
    )
    for gateway in ("haproxy", "nginx"):
        default, *others = [choice for choice in found.policy if choice.gateway == gateway]
        assert not default.parameters
        assert others[-1].key.endswith(", tuned")
        assert others[-1].parameters
    assert {found.abandonment_of(choice) for choice in found.policy} == {"ignore"}
    assert (found.load.rho, found.load.sessions, found.repetitions) == ((1.4, 2.0), 5000, 5)
    expected_s = Expectation(found, 5.6).all_real_s
    assert 4 * 3600 < expected_s < 6 * 3600


def test_rows_of_a_spec_are_chosen_by_their_labels_commas_included():
    board = load_spec("live-leaderboard")
    assert keys(board, policies=["sq", "HAProxy", "tuned", "aimd"]) == [
        "sq", "HAProxy, tuned", "aimd",
    ]  # fmt: skip


@pytest.fixture
def lab():
    return settings.load().changed(gateway_host=None, host="127.0.0.1", shop_host="127.0.0.1")


def test_a_proxy_is_refused_where_it_cannot_be_run(lab, tmp_path, monkeypatch):
    check(lab, [None])
    for name in ("haproxy", "nginx"):
        program = tmp_path / name
        program.touch(mode=0o755)
    monkeypatch.setenv("PATH", os.pathsep.join((str(tmp_path), SYSTEM_PATH)))
    check(lab, ["haproxy", None, "nginx"])
    with pytest.raises(ExperimentError, match="make up RUNTIME=native"):
        check(lab.changed(shop_host="shop"), ["haproxy"])
    with pytest.raises(ExperimentError, match="the gateway is on gateway"):
        check(lab.changed(gateway_host="gateway"), ["nginx"])
    with pytest.raises(ExperimentError, match="DOORBUSTER_LOADGEN_WORKERS"):
        check(lab.changed(loadgen_workers=2), ["nginx"])

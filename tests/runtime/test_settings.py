"""Settings: three sources, one order, and errors that name the variable and the allowed values."""

import json
import os
import pwd
from dataclasses import asdict
from pathlib import Path

import pytest

from runtime import credentials
from runtime.settings import SettingsError, load, load_leniently


def test_defaults_are_those_of_the_architecture(tmp_path: Path) -> None:
    settings = load({}, tmp_path)
    assert sorted(settings.ports().values()) == [*range(8080, 8090), *range(8091, 8095), 8443]
    assert settings.host == settings.inner_host == settings.lab_host == "127.0.0.1"
    assert set(settings.reached_hosts().values()) == {"127.0.0.1"}
    assert settings.gateway_pages_host == settings.gateway_admin_host == "127.0.0.1"
    assert settings.celery_broker == "redis://127.0.0.1:8094/1"
    assert settings.shop_workers == 30
    assert settings.catalogue_books == 4309
    assert settings.results_dir == tmp_path / "results"
    assert settings.shop_cpus == (max(os.sched_getaffinity(0)),)


def test_the_environment_goes_before_the_file_and_the_file_before_the_default(
    tmp_path: Path,
) -> None:
    (tmp_path / ".env").write_text(
        "# a comment\n\nDOORBUSTER_GATEWAY_PORT=9000\nexport DOORBUSTER_SHOP_PORT='9001'  \n"
        "DOORBUSTER_REDIS_PORT=9002 # why\n"
    )
    settings = load({"DOORBUSTER_GATEWAY_PORT": "9100"}, tmp_path)
    assert (settings.gateway_port, settings.shop_port, settings.redis_port) == (9100, 9001, 9002)


def test_children_get_every_setting_spelt_out(tmp_path: Path) -> None:
    (tmp_path / ".env").write_text("SOMETHING_OF_A_PART=1\n")
    settings = load({"DOORBUSTER_SHOP_CPUS": "0", "DOORBUSTER_OTHER_CPUS": "0"}, tmp_path)
    child = settings.environment()
    assert child["DOORBUSTER_SHOP_CPUS"] == "0"
    assert child["DOORBUSTER_GATEWAY_ADMIN_PORT"] == "8081"
    assert child["SOMETHING_OF_A_PART"] == "1"
    assert child["PATH"] == os.environ["PATH"]
    again = load(child, tmp_path)
    assert (again.shop_cpus, again.ports()) == (settings.shop_cpus, settings.ports())
    assert again.reached_hosts() == settings.reached_hosts()


@pytest.mark.parametrize(
    ("variable", "text", "words"),
    [
        ("DOORBUSTER_GATEWAY_PORT", "http", "a whole number from 1 to 65535"),
        ("DOORBUSTER_REDIS_PORT", "70000", "a whole number from 1 to 65535"),
        ("DOORBUSTER_SHOP_WORKERS", "²", "a whole number from 1 to 100"),
        ("DOORBUSTER_LOADGEN_WORKERS", "two", "a whole number from 0 to 1000"),
        ("DOORBUSTER_CATALOGUE_BOOKS", "many", "a whole number from 1000 to 500000"),
        ("DOORBUSTER_ADS_BANNERS", "2000001", "a whole number from 0 to 2000000"),
        ("DOORBUSTER_TELEMETRY_SAMPLED_RATIO", "2", "a number from 0 to 1"),
        ("DOORBUSTER_TELEMETRY_VIEWER", "http://viewer", "an address with {trace} in it"),
        ("DOORBUSTER_SHOP_HOST", "http://shop", "a name or an address without port"),
        ("DOORBUSTER_GATEWAY_HOST", "gateway:8081", "a name or an address without port"),
        ("DOORBUSTER_POSTGRES_HOST", "10.0.0.256", "a name or an address without port"),
        ("DOORBUSTER_INNER_HOST", "two words", "a name or an address without port"),
        ("DOORBUSTER_REDIS_HOST", "0.0.0.0", "the address for all interfaces cannot be called"),
        ("DOORBUSTER_SHOP_CPUS", "one", "forms such as 1 or 2-3"),
        ("DOORBUSTER_SHOP_CPUS", "0-99999999999", "forms such as 1 or 2-3"),
        ("DOORBUSTER_SHOP_CPUS", "3-2", "forms such as 1 or 2-3"),
        ("DOORBUSTER_OTHER_CPUS", "4711", "this machine has no CPU 4711"),
    ],
)
def test_a_refusal_names_the_variable_and_what_is_allowed(
    tmp_path: Path, variable: str, text: str, words: str
) -> None:
    with pytest.raises(SettingsError) as refused:
        load({variable: text}, tmp_path)
    assert str(refused.value).startswith(f"{variable}={text}: ")
    assert words in str(refused.value)


@pytest.mark.parametrize(
    ("given", "pages", "admin", "shop", "console"),
    [
        ({"HOST": "0.0.0.0"}, "127.0.0.1", "127.0.0.1", "127.0.0.1", "127.0.0.1"),
        ({"HOST": "10.0.0.5"}, "10.0.0.5", "127.0.0.1", "127.0.0.1", "127.0.0.1"),
        ({"INNER_HOST": "::"}, "127.0.0.1", "::1", "::1", "::"),
        ({"INNER_HOST": "10.0.0.5"}, "127.0.0.1", "10.0.0.5", "10.0.0.5", "10.0.0.5"),
        (
            {"HOST": "0.0.0.0", "INNER_HOST": "0.0.0.0", "LAB_ACCOUNTS": "1"}
            | {"GATEWAY_HOST": "Gateway", "SHOP_HOST": "shop"},
            *("gateway", "gateway", "shop", "0.0.0.0"),
        ),
    ],
)
def test_what_is_not_set_is_reached_where_it_listens(
    tmp_path: Path, given: dict[str, str], pages: str, admin: str, shop: str, console: str
) -> None:
    settings = load({f"DOORBUSTER_{name}": text for name, text in given.items()}, tmp_path)
    for one in (settings, load(settings.variables(), tmp_path)):  # and so in a child
        assert (one.gateway_pages_host, one.gateway_admin_host) == (pages, admin)
        assert (one.shop_host, one.lab_host) == (shop, console)


@pytest.mark.parametrize(
    ("given", "hidden"),
    [
        ({}, False),
        ({"HOST": "0.0.0.0"}, True),
        ({"HOST": "0.0.0.0", "LAB_ACCOUNTS": "1"}, False),
        ({"HOST": "0.0.0.0", "INNER_HOST": "0.0.0.0"}, False),
        ({"INNER_HOST": "10.0.0.5"}, False),
    ],
)
def test_a_console_without_accounts_is_not_shown_where_the_shop_is(
    tmp_path: Path, given: dict[str, str], hidden: bool
) -> None:
    given = {f"DOORBUSTER_{name}": text for name, text in given.items()}
    assert load(given, tmp_path).lab_is_hidden is hidden


def test_cpus_of_a_shop_elsewhere_are_not_those_of_this_machine(tmp_path: Path) -> None:
    given = {"DOORBUSTER_SHOP_HOST": "shop", "DOORBUSTER_SHOP_CPUS": "4711"}
    assert load(given, tmp_path).shop_cpus == (4711,)
    for here in ({}, {"DOORBUSTER_INNER_HOST": "10.0.0.5", "DOORBUSTER_SHOP_HOST": "10.0.0.5"}):
        with pytest.raises(SettingsError, match="this machine has no CPU 4711"):
            load({"DOORBUSTER_SHOP_CPUS": "4711", **here}, tmp_path)


def test_a_service_that_may_not_run_takes_no_port_from_one_that_does(tmp_path: Path) -> None:
    settings = load({"DOORBUSTER_LAB_PORT": "8088"}, tmp_path)
    assert settings.lab_port == settings.prometheus_port


def test_two_parts_cannot_share_a_port(tmp_path: Path) -> None:
    with pytest.raises(SettingsError, match="DOORBUSTER_SHOP_PORT and DOORBUSTER_REDIS_PORT"):
        load({"DOORBUSTER_SHOP_PORT": "9000", "DOORBUSTER_REDIS_PORT": "9000"}, tmp_path)


@pytest.mark.parametrize(
    ("line", "words"),
    [
        ("DOORBUSTER_GATEWAY_PROT=9000", "did you mean DOORBUSTER_GATEWAY_PORT?"),
        ("GATEWAY_PORT=9090", "did you mean DOORBUSTER_GATEWAY_PORT?"),
        ("GATEWAY_PROT=9090", "did you mean DOORBUSTER_GATEWAY_PORT?"),
        ("what is this", "not of the form NAME=value"),
    ],
)
def test_a_mistake_in_the_file_names_its_line(tmp_path: Path, line: str, words: str) -> None:
    (tmp_path / ".env").write_text(f"# first\n{line}\n")
    with pytest.raises(SettingsError, match="line 2") as refused:
        load({}, tmp_path)
    assert words in str(refused.value)


def test_read_leniently_a_fault_costs_its_own_line_alone(tmp_path: Path) -> None:
    (tmp_path / ".env").write_text(
        "DOORBUSTER_GATEWAY_PROT=9000\nDOORBUSTER_SHOP_PORT=x\nDOORBUSTER_STATE_DIR=elsewhere\n"
    )
    settings, faults = load_leniently({}, tmp_path)
    assert settings.state_dir == tmp_path / "elsewhere"
    assert (settings.gateway_port, settings.shop_port) == (8080, 8082)
    assert ["GATEWAY_PROT" in faults[0], "SHOP_PORT=x" in faults[1]] == [True, True]
    assert len(faults) == 2


def test_a_state_folder_that_is_no_path_is_read_leniently_as_the_default(tmp_path: Path) -> None:
    given = {"DOORBUSTER_STATE_DIR": "~nobody-of-this-name/state"}
    settings, (fault,) = load_leniently(given, tmp_path)
    assert settings.state_dir == load({}, tmp_path).state_dir
    assert fault.startswith("DOORBUSTER_STATE_DIR=~nobody-of-this-name/state: not a path")


def test_secrets_are_made_once_and_are_the_owners_alone(tmp_path: Path) -> None:
    made = credentials.make(tmp_path)
    assert made == credentials.make(tmp_path) == credentials.read(tmp_path)
    assert (tmp_path / credentials.FILE_NAME).stat().st_mode & 0o777 == 0o600
    settings = load({"DOORBUSTER_STATE_DIR": str(tmp_path)}, tmp_path)
    assert {name: getattr(settings, name) for name in asdict(made)} == asdict(made)
    assert all(len(secret) >= 16 for secret in asdict(made).values())
    assert len(made.gateway_cookie_key) >= 32  # what the gateway asks for


def test_a_secret_that_an_older_version_did_not_know_is_added(tmp_path: Path) -> None:
    old = {"postgres_password": "p" * 32, "secret_key": "s" * 50}
    (tmp_path / credentials.FILE_NAME).write_text(json.dumps(old))
    now = credentials.make(tmp_path)
    assert old.items() <= asdict(now).items()
    assert all(asdict(now).values())
    assert now == credentials.read(tmp_path)
    assert (tmp_path / credentials.FILE_NAME).stat().st_mode & 0o777 == 0o600


@pytest.mark.parametrize("content", ["{", "[]", '{"password": 1}'])
def test_damaged_secrets_say_the_mend(tmp_path: Path, content: str) -> None:
    (tmp_path / credentials.FILE_NAME).write_text(content)
    with pytest.raises(SettingsError, match=r"secrets.json is damaged .*make reset"):
        load({"DOORBUSTER_STATE_DIR": str(tmp_path)}, tmp_path)


def test_a_given_password_goes_before_the_generated_one(tmp_path: Path) -> None:
    credentials.make(tmp_path)
    given = {"DOORBUSTER_STATE_DIR": str(tmp_path), "DOORBUSTER_POSTGRES_PASSWORD": "mine"}
    assert load(given, tmp_path).postgres_password == "mine"


def test_variables_of_one_part_pass_through_from_file_and_environment(tmp_path: Path) -> None:
    (tmp_path / ".env").write_text(
        "DOORBUSTER_GATEWAY_ADMIN_NAMES=lab.example\nDOORBUSTER_GATEWAY_POLICY=sq\n"
    )
    given = {"DOORBUSTER_GATEWAY_POLICY": "8q-af", "DOORBUSTER_ADS_THREADS": "4", "EDITOR": "ed"}
    assert load(given, tmp_path).of_parts == {
        "DOORBUSTER_GATEWAY_ADMIN_NAMES": "lab.example",
        "DOORBUSTER_GATEWAY_POLICY": "8q-af",
        "DOORBUSTER_ADS_THREADS": "4",
    }


def test_the_broker_of_the_appliances_own_redis_has_its_password(tmp_path: Path) -> None:
    made = credentials.make(tmp_path)
    settings = load({"DOORBUSTER_STATE_DIR": str(tmp_path)}, tmp_path)
    assert settings.celery_broker == f"redis://:{made.redis_password}@127.0.0.1:8094/1"
    chosen = "a/b@c-and-12-more"
    again = load(settings.environment() | {"DOORBUSTER_REDIS_PASSWORD": chosen}, tmp_path)
    assert again.celery_broker == settings.celery_broker  # spelt out
    elsewhere = load({"DOORBUSTER_REDIS_HOST": "[fd00::5]"}, tmp_path / "other")
    assert elsewhere.celery_broker == "redis://[fd00::5]:8094/1"
    of_ones_own = {"DOORBUSTER_STATE_DIR": str(tmp_path), "DOORBUSTER_REDIS_PASSWORD": chosen}
    written = "redis://:a%2Fb%40c-and-12-more@127.0.0.1:8094/1"
    assert load(of_ones_own, tmp_path).celery_broker == written


@pytest.mark.parametrize("name", ["REDIS_PASSWORD", "INNER_TOKEN"])
@pytest.mark.parametrize("weak", ["a", "fifteen-letters", "sixteen-l\u00e4tters-"])
def test_a_weak_secret_is_refused_without_being_shown(tmp_path: Path, name: str, weak: str) -> None:
    given = {"DOORBUSTER_STATE_DIR": str(tmp_path), f"DOORBUSTER_{name}": weak}
    with pytest.raises(SettingsError, match=f"DOORBUSTER_{name}: too weak") as refused:
        load(given, tmp_path)
    assert f"={weak}" not in str(refused.value)


@pytest.mark.parametrize(
    ("accounts", "wanted"),
    [
        ([], "0"),
        ([("student1", 1001, "/bin/bash")], "1"),
        ([("student1", 1001, "")], "1"),
        ([("service", 1001, "/usr/sbin/nologin"), ("git", 998, "/bin/bash")], "0"),
        ([("nobody", 65534, "/bin/sh"), ("gone", 1002, "/bin/false")], "0"),
    ],
)
def test_the_token_is_required_where_others_may_log_in(tmp_path, monkeypatch, accounts, wanted):
    ours = ("us", os.geteuid(), "/bin/bash")
    entries = [
        pwd.struct_passwd((name, "x", uid, uid, "", "/", shell))
        for name, uid, shell in [ours, *accounts]
    ]
    monkeypatch.setattr("pwd.getpwall", lambda: entries)
    given = {"DOORBUSTER_STATE_DIR": str(tmp_path)}
    assert load(given, tmp_path).variables()["DOORBUSTER_INNER_TOKEN_REQUIRED"] == wanted
    off = load(given | {"DOORBUSTER_INNER_TOKEN_REQUIRED": "0"}, tmp_path)
    assert not off.inner_token_required

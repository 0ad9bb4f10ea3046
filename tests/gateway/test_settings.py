"""One list of settings: environment, command line and documentation follow from it."""

import re
from pathlib import Path

import pytest

from gateway import settings
from gateway.settings import Settings, SettingsError, read

DOCUMENT = Path(__file__).parents[2] / "docs" / "gateway.md"


def test_defaults():
    assert read({}, {}) == Settings()


def test_the_command_line_goes_before_the_environment():
    environment = {"DOORBUSTER_GATEWAY_PORT": "9000", "DOORBUSTER_SHOP_WORKERS": "7"}
    got = read(environment, {"port": "9100", "workers": None})
    assert (got.port, got.workers) == (9100, 7)


def test_a_key_is_not_shown():
    key = "a secret of more than 32 characters"
    got = read({"DOORBUSTER_GATEWAY_COOKIE_KEY": key}, {})
    assert got.cookie_key.get_secret_value() == key
    assert key not in repr(got)
    with pytest.raises(SettingsError) as caught:
        read({"DOORBUSTER_GATEWAY_COOKIE_KEY": "short secret"}, {})
    assert "short secret" not in str(caught.value)


def test_parameters_are_json():
    got = read({"DOORBUSTER_GATEWAY_POLICY_PARAMETERS": '{"capacity": 5}'}, {})
    assert got.policy_parameters == {"capacity": 5}


@pytest.mark.parametrize(
    ("environment", "options", "complaint"),
    [
        ({"DOORBUSTER_SHOP_WORKERS": "many"}, {}, "DOORBUSTER_SHOP_WORKERS: Input should be a"),
        ({}, {"workers": "0"}, "--workers: Input should be greater than or equal to 1"),
        ({"DOORBUSTER_GATEWAY_HALF_CLOSE": "x"}, {}, "Input should be 'probe', 'wait' or 'leave'"),
        ({"DOORBUSTER_GATEWAY_IDEL_S": "1"}, {}, "DOORBUSTER_GATEWAY_IDEL_S: no such setting"),
        ({}, {"policy_parameters": "{"}, "--policy-parameters: must be a JSON object"),
        ({"DOORBUSTER_GATEWAY_PORT": "8082"}, {}, "port and shop_port are both 8082"),
        ({}, {"admin_port": "8080"}, "port and admin_port are both 8080"),
        ({"DOORBUSTER_GATEWAY_COOKIE_KEY": "x"}, {}, "DOORBUSTER_GATEWAY_COOKIE_KEY: Value should"),
        ({}, {"time_scale": "0.0001"}, "--time-scale: Input should be greater than"),
        ({}, {"session_timeout_s": "0"}, "--session-timeout-s: Input should be greater than 0"),
        ({}, {"admission_parameters": "["}, "--admission-parameters: must be a JSON object"),
        ({"DOORBUSTER_SHOP_HOST": "http://shop"}, {}, "DOORBUSTER_SHOP_HOST: must be a name or an"),
        ({"DOORBUSTER_INNER_HOST": "a b"}, {}, "DOORBUSTER_INNER_HOST: must be a name or an"),
        ({"DOORBUSTER_GATEWAY_HOST": "gateway:80"}, {}, "DOORBUSTER_GATEWAY_HOST: must be a name"),
        ({"DOORBUSTER_ADS_HOST": "10.0.0.256"}, {}, "DOORBUSTER_ADS_HOST: must be a name or an"),
        ({}, {"session_cookie": "a b"}, "--session-cookie: String should match"),
        ({}, {"signed_cookie": "a;b"}, "--signed-cookie: String should match"),
        ({}, {"signed_cookie": "sessionid"}, "session_cookie and signed_cookie are both sessionid"),
    ],
)
def test_complaints_say_where_the_value_came_from(environment, options, complaint):
    with pytest.raises(SettingsError) as caught:
        read(environment, options)
    assert complaint in str(caught.value)


def test_the_documented_table_is_the_list():
    rows = re.findall(
        r"^\| `(\w+)` \| `([A-Z_]+)` \| (.*?) \| (.*) \|$", DOCUMENT.read_text(), re.M
    )
    assert rows == settings.table()


def test_every_variable_is_used_once():
    names = [settings.variable(field) for field in Settings.model_fields]
    assert len(set(names)) == len(names)

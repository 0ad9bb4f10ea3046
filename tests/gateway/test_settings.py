"""One list of settings: environment, command line and documentation follow from it."""

import pytest

from gateway.settings import SettingsError, read


def test_the_command_line_goes_before_the_environment():
    environment = {"DOORBUSTER_GATEWAY_PORT": "9000", "DOORBUSTER_SHOP_WORKERS": "7"}
    got = read(environment, {"port": "9100", "workers": None})
    assert (got.port, got.workers) == (9100, 7)


def test_a_key_is_not_shown():
    key = "a secret of more than 32 characters"
    got = read({"DOORBUSTER_GATEWAY_COOKIE_KEY": key}, {})
    assert got.cookie_key == key
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
        (
            {"DOORBUSTER_SHOP_WORKERS": "many"},
            {},
            "DOORBUSTER_SHOP_WORKERS=many: must be a whole number from 1 to 1000",
        ),
        ({}, {"workers": "0"}, "--workers=0: must be a whole number from 1 to 1000"),
        (
            {"DOORBUSTER_GATEWAY_HALF_CLOSE": "x"},
            {},
            "HALF_CLOSE=x: must be `probe`, `wait` or `leave`",
        ),
        ({"DOORBUSTER_GATEWAY_IDEL_S": "1"}, {}, "DOORBUSTER_GATEWAY_IDEL_S: no such setting"),
        ({}, {"policy_parameters": "{"}, "--policy-parameters={: must be a JSON object"),
        ({"DOORBUSTER_GATEWAY_PORT": "8082"}, {}, "port and shop_port are both 8082"),
        ({}, {"admin_port": "8080"}, "port and admin_port are both 8080"),
        ({}, {"ads_port": "8080"}, "port and ads_port are both 8080"),
        (
            {"DOORBUSTER_GATEWAY_COOKIE_KEY": "x"},
            {},
            "DOORBUSTER_GATEWAY_COOKIE_KEY: too weak; it must have at least 32",
        ),
        (
            {},
            {"time_scale": "0.0001"},
            "--time-scale=0.0001: must be a number from 0.001 to 1000",
        ),
        ({}, {"session_timeout_s": "0"}, "--session-timeout-s=0: must be a number above 0"),
        ({}, {"admission_parameters": "["}, "--admission-parameters=[: must be a JSON object"),
        (
            {"DOORBUSTER_SHOP_HOST": "http://shop"},
            {},
            "DOORBUSTER_SHOP_HOST=http://shop: not a host; allowed:",
        ),
        ({"DOORBUSTER_INNER_HOST": "a b"}, {}, "DOORBUSTER_INNER_HOST=a b: not a host; allowed:"),
        ({}, {"session_cookie": "a b"}, "--session-cookie=a b: must be text that matches"),
        ({}, {"signed_cookie": "a;b"}, "--signed-cookie=a;b: must be text that matches"),
        ({}, {"signed_cookie": "sessionid"}, "session_cookie and signed_cookie are both sessionid"),
    ],
)
def test_complaints_say_where_the_value_came_from(environment, options, complaint):
    with pytest.raises(SettingsError) as caught:
        read(environment, options)
    assert complaint in str(caught.value)

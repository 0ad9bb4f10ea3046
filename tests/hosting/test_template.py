"""The settings of an application of the platform."""

from pathlib import Path

import pytest

from gateway import settings as gateway_settings
from hosting import template
from hosting.options import PlatformOptions
from hosting.template import Application
from runtime.settings import load

OPTIONS = PlatformOptions(cto_s=0.1, ctn_s=0.3, time_scale=5.0)


def application(number):
    return Application(
        name=template.name_of(number),
        priority=1.0,
        port=100 * number,
        tls_port=100 * number + 1,
        admin_port=100 * number + 2,
        shop_ports=(100 * number + 3,),
        controller_ports=(100 * number + 4,),
        shop_threads=4,
        cpus=(0,),
        processors=0.0,
    )


def environment(number, **given):
    """Return that application's environment, in an appliance with the settings `given`."""
    return template.environment(
        load(given or None),
        OPTIONS,
        application(number),
        certificate=Path("certificate"),
        key=Path("key"),
        cpu_manager=Path("socket"),
    )


def told(number, **given):
    """Return the settings of that application's gateway."""
    return gateway_settings.read(environment(number, **given), {})


def test_one_browser_can_be_a_customer_of_two_applications():
    """All applications have one host name, and cookies know no ports."""
    one, other = told(1), told(2)
    names = {each.session_cookie for each in (one, other)}
    names |= {each.signed_cookie for each in (one, other)}
    assert len(names) == 4
    appliance = gateway_settings.Settings()
    assert not names & {appliance.session_cookie, appliance.signed_cookie}


def test_its_shop_is_a_shop_whoever_starts_the_platform(monkeypatch):
    monkeypatch.setenv("DJANGO_SETTINGS_MODULE", "lab.console.site.settings")
    assert environment(1)["DJANGO_SETTINGS_MODULE"] == "shop.settings"
    assert environment(1)["DOORBUSTER_SHOP_SCHEMA"] == "application_1"


def test_admission_decides_as_often_as_the_cpu_manager():
    """Both decide every 2 paper s; the front counts paper seconds, the manager real ones."""
    parameters = told(1).connection_admission_parameters
    assert told(1).time_scale == OPTIONS.time_scale
    assert OPTIONS.manager_interval_s == pytest.approx(parameters["k_apl_s"] / OPTIONS.time_scale)
    assert OPTIONS.manager_interval_s == pytest.approx(0.4)


def test_applications_are_on_loopback_wherever_the_appliance_is():
    everywhere = {
        f"DOORBUSTER_{name}": host
        for name, host in {
            "HOST": "0.0.0.0",
            "INNER_HOST": "0.0.0.0",
            "GATEWAY_HOST": "gateway",
            "SHOP_HOST": "shop",
            "ADS_HOST": "ads",
        }.items()
    }
    own = told(1, **everywhere)
    assert {own.host, own.admin_host, own.reached_host, own.shop_host} == {"127.0.0.1"}
    assert own.ads_port is None

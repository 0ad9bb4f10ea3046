"""The settings of a plain shop next to the appliance's shop."""

from gateway import settings as gateway_settings
from hosting import plain
from runtime.settings import load

KEYS = ("gateway_port", "gateway_admin_port", "shop_port", "shop_controller_port")


def test_each_has_ports_cpus_and_cookies_of_its_own():
    lab = load()
    one, other = (plain.settings_of(lab, (cpu,), (7,), 2_000) for cpu in (3, 4))
    ports = [getattr(shop, key) for shop in (lab, one, other) for key in KEYS]
    assert len(set(ports)) == len(ports)
    assert (one.shop_cpus, other.shop_cpus, one.other_cpus) == ((3,), (4,), (7,))
    told = [
        gateway_settings.read(plain.environment(shop, f"race-{number}"), {})
        for number, shop in enumerate((one, other), start=1)
    ]
    cookies = {name for each in told for name in (each.session_cookie, each.signed_cookie)}
    appliance = gateway_settings.Settings()
    assert len(cookies | {appliance.session_cookie, appliance.signed_cookie}) == 6


def test_its_gateway_speaks_no_tls_and_knows_its_shop_alone(monkeypatch):
    monkeypatch.setenv("DJANGO_SETTINGS_MODULE", "lab.console.site.settings")  # of who starts it
    shop = plain.settings_of(load(), (0,), (0,), 2_000)
    environment = plain.environment(shop, "race-1")
    assert environment["DOORBUSTER_SHOP_SCHEMA"] == "race_1"
    assert environment["DJANGO_SETTINGS_MODULE"] == "shop.settings"
    assert environment["DOORBUSTER_CATALOGUE_BOOKS"] == "2000"
    told = gateway_settings.read(environment, {})
    assert told.tls_port is None
    assert told.ads_port is None
    assert told.host == told.admin_host == told.shop_host == "127.0.0.1"
    assert (told.port, told.shop_port) == (shop.gateway_port, shop.shop_port)
    assert told.admin_port == shop.gateway_admin_port
    assert told.shop_controller_port == shop.shop_controller_port
    assert told.workers == shop.shop_workers

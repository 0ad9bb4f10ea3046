"""The environment of an application: a complete shop with a gateway, next to the appliance's."""

from collections.abc import Mapping

from common import hosts
from runtime.native.services import APPLIANCE_VARIABLE
from runtime.settings import Settings


def application_settings(lab: Settings, **changes: object) -> Settings:
    """Return the appliance's settings with these changes, for an application. All its parts use
    this machine's loopback address.
    """
    return lab.changed(
        host=hosts.LOOPBACK,
        inner_host=hosts.LOOPBACK,
        gateway_host=hosts.LOOPBACK,
        shop_host=hosts.LOOPBACK,
        **changes,
    )


def application_environment(
    settings: Settings, name: str, gateway: Mapping[str, object]
) -> dict[str, str]:
    """Return the environment that all processes of an application inherit.

    `name` has only lower-case letters, digits and hyphens. The application's database schema and
    cookies get their names from `name`; the names of the cache keys come from the schema. `gateway`
    has further settings of the gateway. Its keys are the settings' variables without
    `DOORBUSTER_GATEWAY_`.
    """
    schema = name.replace("-", "_")
    of_gateway = {
        "APPLICATION": name,
        "SESSION_COOKIE": f"{schema}_sessionid",
        "SIGNED_COOKIE": f"{schema}_doorbuster_session",
        **gateway,
    }
    own = {
        APPLIANCE_VARIABLE: settings.state_dir,  # so that `make down` also ends it
        "DJANGO_SETTINGS_MODULE": "shop.settings",  # a process of another site may start it
        "DOORBUSTER_SHOP_SCHEMA": schema,
        "DOORBUSTER_ADS_PORT": "",  # no banners
        "DOORBUSTER_TELEMETRY_ENDPOINT": "",  # traces would cost the measurement CPU time
        **{f"DOORBUSTER_GATEWAY_{variable}": value for variable, value in of_gateway.items()},
    }
    return settings.environment() | {variable: str(value) for variable, value in own.items()}

"""The address of the gateway, to which customers connect unless `--host` names another address."""

import os

from common import hosts
from common.settings import SettingsModel, read
from common.shared_settings import GatewayHost, GatewayPort


class GatewayAddress(SettingsModel):
    """The environment variables of the gateway's address (docs/settings.md)."""

    gateway_host: GatewayHost
    gateway_port: GatewayPort


def gateway_url() -> str:
    """Return the gateway's URL without TLS. Raises SettingsError if a setting is invalid."""
    address = read(GatewayAddress, os.environ)
    return f"http://{hosts.authority(address.gateway_host or hosts.LOOPBACK, address.gateway_port)}"

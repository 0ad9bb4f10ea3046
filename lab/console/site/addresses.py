"""The addresses at which the browser that sent a request can reach other parts of the appliance."""

from urllib.parse import urlsplit

from django.http import HttpRequest

from common import hosts
from lab.console.site.settings import LAB


def host_of(request: HttpRequest) -> str:
    """Return the host name or address that the browser uses for this machine, without a port."""
    return urlsplit(f"//{request.get_host()}").hostname or ""


def shop_address(request: HttpRequest) -> str:
    """Return the address of the shop's first page."""
    return f"http://{hosts.authority(host_of(request), LAB.gateway_port)}/"

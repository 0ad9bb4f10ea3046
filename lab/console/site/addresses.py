"""The addresses of other parts of the appliance for the browser that sent a request."""

from urllib.parse import urlsplit

from django.http import HttpRequest

from common import hosts
from lab.console.site.settings import LAB


def host_of(request: HttpRequest) -> str:
    """Return the name or address by which the browser calls this machine, without a port."""
    return urlsplit(f"//{request.get_host()}").hostname or ""


def shop_address(request: HttpRequest) -> str:
    """Return the address of the shop's first page."""
    return f"http://{hosts.authority(host_of(request), LAB.gateway_port)}/"

"""The content that a page is allowed to load, and the host names that the console accepts."""

import ipaddress
import socket
from collections.abc import Awaitable, Callable

from django.conf import settings
from django.http import HttpRequest, HttpResponse, HttpResponseBase
from django.http.request import split_domain_port
from django.utils.decorators import async_only_middleware

from lab.console.site.calls import is_call, refusal

POLICY = (
    "default-src 'self'; img-src 'self' data:; style-src 'self' 'unsafe-inline'; "
    "object-src 'none'; base-uri 'none'; form-action 'self'; frame-ancestors 'none'"
)


Handler = Callable[[HttpRequest], Awaitable[HttpResponseBase]]


@async_only_middleware
def ContentSecurityMiddleware(get_response: Handler) -> Handler:  # noqa: N802 - as every middleware
    """Add the Content-Security-Policy header to each answer of a view that lacks it."""

    async def middleware(request: HttpRequest) -> HttpResponseBase:
        response = await get_response(request)
        response.headers.setdefault("Content-Security-Policy", POLICY)
        return response

    return middleware


def is_own_name(host: str) -> bool:
    """Return whether a console without accounts accepts requests for `host`, a host name without
    port.

    The owner of another site can make its host name resolve to this machine (DNS rebinding). Checks
    of Origin would not stop the pages of that site. The console therefore accepts only IP
    addresses, names without a dot, and the names of this machine.
    """
    name = host.removeprefix("[").removesuffix("]").lower().rstrip(".")
    if "." not in name and ":" not in name:
        return bool(name)
    try:
        ipaddress.ip_address(name)
    except ValueError:
        lab = settings.LAB
        return name in {lab.inner_host, lab.host, socket.getfqdn().lower()}
    return True


def _refusal(request: HttpRequest) -> HttpResponse | None:
    name, _ = split_domain_port(request.get_host())
    if settings.LAB.lab_accounts or is_own_name(name):
        return None
    words = (
        "Host: this console has no accounts and accepts only an IP address, a name without a dot, "
        "or a name of its machine, e.g. http://127.0.0.1. With DOORBUSTER_LAB_ACCOUNTS=1, it "
        "accepts any host name."
    )
    if is_call(request.path):
        return refusal(400, words)
    return HttpResponse(f"{words}\n", status=400, content_type="text/plain; charset=utf-8")


@async_only_middleware
def OwnNameMiddleware(get_response: Handler) -> Handler:  # noqa: N802 - as every middleware
    """Refuse requests whose host `is_own_name` rejects, if the console has no accounts."""

    async def middleware(request: HttpRequest) -> HttpResponseBase:
        return _refusal(request) or await get_response(request)

    return middleware

"""The addresses of an appliance, checked without a running one."""

import ast
import re
from collections.abc import Iterable, Iterator
from functools import cache
from urllib.parse import urlsplit

from gateway.admin import calls
from runtime.settings import REPOSITORY, load

_SHOP, _ADS, _ADS_API = "shop/urls.py", "shop/ads/urls.py", "shop/ads/management/api.py"
_CONSOLE = sorted(
    str(file.relative_to(REPOSITORY)) for file in REPOSITORY.glob("lab/console/*/views.py")
)
_SITES = {
    "DOORBUSTER_GATEWAY_PORT": (_SHOP, _ADS),
    "DOORBUSTER_GATEWAY_TLS_PORT": (_SHOP, _ADS),
    "DOORBUSTER_SHOP_PORT": (_SHOP,),
    "DOORBUSTER_ADS_PORT": (_ADS,),
    "DOORBUSTER_LAB_PORT": tuple(_CONSOLE),
}
_WATCHERS = ("DOORBUSTER_GRAFANA_PORT", "DOORBUSTER_PROMETHEUS_PORT")
_PARAMETER = {"int": r"\d+", "path": ".+"}


def usual_ports() -> dict[int, str]:
    """Return port → its variable, for the default ports."""
    return {port: name for name, port in load({}, REPOSITORY).ports().items()}


def nowhere(addresses: Iterable[str]) -> list[str]:
    """Return the addresses that no part of the appliance would answer."""
    ports = usual_ports()
    return [one for one in sorted(set(addresses)) if not _is_somewhere(one, ports)]


def _is_somewhere(address: str, ports: dict[int, str]) -> bool:
    parts = urlsplit(address)
    part = ports.get(parts.port or 0)
    if part == "DOORBUSTER_GATEWAY_ADMIN_PORT":
        return parts.path in _of_the_admin_api()
    return part in _WATCHERS or any(
        re.fullmatch(route, parts.path.lstrip("/"))
        for file in _SITES.get(part or "", ())
        for route in _routes(file)
    )


@cache
def _routes(file: str) -> tuple[str, ...]:
    """Return Django's routes of a module as expressions, read without Django's settings."""
    tree = ast.parse((REPOSITORY / file).read_text(encoding="utf-8"))
    return tuple(
        found
        for call in ast.walk(tree)
        if isinstance(call, ast.Call) and ast.unparse(call.func) == "path"
        for found in _expressions(call)
    )


_VARIABLE = "\0"
"""The placeholder for a value of an f-string."""


def _written(route: ast.expr) -> str:
    parts = route.values if isinstance(route, ast.JoinedStr) else [route]
    return "".join(
        str(part.value) if isinstance(part, ast.Constant) else _VARIABLE for part in parts
    )


def _expressions(call: ast.Call) -> Iterator[str]:
    route = re.sub(
        r"<(\w+):\w+>",
        lambda found: _PARAMETER.get(found[1], "[^/]+"),
        _written(call.args[0]).replace(".", r"\."),
    ).replace(_VARIABLE, "[^/]+")
    view = ast.unparse(call.args[1])
    if view == "admin.site.urls":
        yield route + ".*"
    elif view == "api.urls":
        yield from (route + rest for rest in _managed())
    elif included := re.fullmatch(r"include\('(.+)'\)", view):
        yield from (route + rest for rest in _routes(included[1].replace(".", "/") + ".py"))
    else:
        yield route


def _managed() -> Iterator[str]:
    """Yield the paths of the ad server's management as expressions."""
    for call in ast.walk(ast.parse((REPOSITORY / _ADS_API).read_text(encoding="utf-8"))):
        if isinstance(call, ast.Call) and ast.unparse(call.func).startswith("api."):
            for given in call.args:
                if isinstance(given, ast.Constant) and isinstance(given.value, str):
                    yield re.sub(r"\{int:\w+\}", r"\\d+", given.value)


def _of_the_admin_api() -> frozenset[str]:
    return frozenset(call.path for call in calls.CALLS)

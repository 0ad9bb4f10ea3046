"""Which addresses the appliance answers at, without one that runs.

Owns: an address's port → whose it is, its path → whether that part has it. Must not know: sheets.
"""

import ast
import os
import re
import subprocess
import sys
from collections import defaultdict
from collections.abc import Iterable
from pathlib import Path
from urllib.parse import urlsplit

from gateway import admin
from runtime.settings import REPOSITORY, load

_SITES = {
    "DOORBUSTER_LAB_PORT": ("lab.console.settings", "lab.console.urls"),
    "DOORBUSTER_GATEWAY_PORT": ("shop.settings", "shop.urls"),
    "DOORBUSTER_SHOP_PORT": ("shop.settings", "shop.urls"),
    "DOORBUSTER_ADS_PORT": ("shop.ads.settings", "shop.ads.urls"),
}
_RESOLVE = """
import sys, django
django.setup()
from django.urls import Resolver404, resolve
for path in sys.argv[2:]:
    try:
        resolve(path, sys.argv[1])
    except Resolver404:
        print(path)
"""


def usual_ports() -> dict[int, str]:
    """Port → its variable, as long as nobody chooses others."""
    return {port: name for name, port in load({}, REPOSITORY).ports().items()}


def nowhere(addresses: Iterable[str]) -> list[str]:
    """Those that no part of the appliance would answer."""
    ports, lost = usual_ports(), []
    asked: dict[tuple[str, str], dict[str, str]] = defaultdict(dict)
    for address in sorted(set(addresses)):
        parts = urlsplit(address)
        part = ports.get(parts.port or 0)
        path = parts.path or "/"
        if part == "DOORBUSTER_GATEWAY_ADMIN_PORT":
            if path not in _admin_paths():
                lost.append(address)
        elif part == "DOORBUSTER_GATEWAY_PORT" and path.startswith("/ads/"):
            asked[_SITES["DOORBUSTER_ADS_PORT"]][path] = address
        elif part in _SITES:
            asked[_SITES[part]][path] = address
        elif part not in ("DOORBUSTER_GRAFANA_PORT", "DOORBUSTER_PROMETHEUS_PORT"):
            lost.append(address)
    for (settings, urls), paths in asked.items():
        lost += [paths[path] for path in _unresolved(settings, urls, paths)]
    return lost


def _unresolved(settings: str, urls: str, paths: Iterable[str]) -> list[str]:
    """In a process of its own: one can have one Django settings module alone."""
    done = subprocess.run(
        [sys.executable, "-c", _RESOLVE, urls, *paths],
        cwd=REPOSITORY,
        env={**os.environ, "DJANGO_SETTINGS_MODULE": settings},
        capture_output=True,
        text=True,
        timeout=240,
    )
    assert done.returncode == 0, done.stderr
    return done.stdout.split()


def _admin_paths() -> set[str]:
    text = Path(admin.__file__).read_text(encoding="utf-8")
    return {ast.literal_eval(found).decode() for found in re.findall(r'(b"/[a-z-]*"): \{', text)}

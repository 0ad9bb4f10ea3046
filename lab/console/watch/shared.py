"""The `Watch` object that all viewers of this server process share."""

from collections.abc import Mapping
from typing import Any

from lab.console.site.settings import LAB
from lab.console.watch.broadcast import Watch
from lab.console.watch.live_run import live_shops_now, proxy_now, under_way


def _run_under_way() -> Mapping[str, Any] | None:
    found = under_way()
    return None if found is None else found.told()


watch = Watch(LAB, _run_under_way, live_shops_now, proxy_now)

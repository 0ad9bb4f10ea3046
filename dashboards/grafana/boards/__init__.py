"""The dashboards, one per module, in the order of the list."""

from collections.abc import Sequence

from dashboards.grafana.boards import ads, cpu_manager, gateway, results, rush, sessions, shop
from dashboards.grafana.frame import Board


def boards() -> Sequence[Board]:
    return [one.board() for one in (rush, gateway, sessions, shop, ads, cpu_manager, results)]

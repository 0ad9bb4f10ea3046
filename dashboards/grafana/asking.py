"""The command `python -m dashboards.grafana.asking`, which sends every query of the dashboards to
Prometheus and shows, without Grafana, which queries have no data.
"""

import contextlib
import json
import sys
import time
import urllib.error
import urllib.parse
import urllib.request
from collections.abc import Sequence

import click

from common.one_line import OneLineCommand
from dashboards.grafana.committed import Asked, Json, committed, promql

_TIMEOUT_S = 30.0


class PrometheusError(click.ClickException):
    """The error for a Prometheus that does not answer or refuses a query; the message is one
    line.
    """

    exit_code = 2


def known(name: str) -> Json:
    """Return the dashboard with this name. Raises BadParameter if it does not exist."""
    boards = committed()
    if name not in boards:
        raise click.BadParameter(f"{name!r}; allowed: {', '.join(boards)}", param_hint="NAME")
    return boards[name]


def series_of(prometheus: str, asked: Asked, from_s: float, to_s: float) -> list[Json]:
    """Return Prometheus' series with a value between these times (Unix seconds). Raises
    PrometheusError if Prometheus does not answer or refuses the query.
    """
    # Prometheus' maximum number of points.
    step_s = max(asked.step_s, (to_s - from_s) / 10_000)
    form = {"query": asked.expr, "start": from_s, "end": to_s, "step": step_s}
    request = urllib.request.Request(
        f"{prometheus}/api/v1/query_range", urllib.parse.urlencode(form).encode()
    )
    opener = urllib.request.build_opener(urllib.request.ProxyHandler({}))
    try:
        with opener.open(request, timeout=_TIMEOUT_S) as response:
            answer = json.load(response)
    except urllib.error.HTTPError as fault:
        words = fault.read().decode(errors="replace")
        with contextlib.suppress(ValueError):
            words = json.loads(words)["error"]
        raise PrometheusError(f"{prometheus}: {words or fault.reason}") from None
    except (OSError, ValueError) as fault:
        raise PrometheusError(
            f"no Prometheus answers at {prometheus} ({getattr(fault, 'reason', fault)}); fix: "
            "make up on a machine with Prometheus, or give its address with --prometheus"
        ) from None
    found = answer["data"]["result"]
    return [one for one in found if any(value != "NaN" for _, value in one["values"])]


def empty(
    prometheus: str,
    from_s: float,
    to_s: float,
    names: Sequence[str] = (),
    application: str = "shop",
) -> tuple[list[Asked], int]:
    """Return the queries without data between these times, and the number sent.

    Without `names`, all dashboards' queries are sent. Raises PrometheusError.
    """
    queries = [
        asked
        for name, dashboard in committed().items()
        if not names or name in names
        for asked in promql(name, dashboard, application)
    ]
    without = [asked for asked in queries if not series_of(prometheus, asked, from_s, to_s)]
    return without, len(queries)


def _known(context: click.Context, option: click.Parameter, names: tuple[str, ...]) -> object:
    for name in names:
        known(name)
    return names


@click.command(cls=OneLineCommand)
@click.argument("names", nargs=-1, callback=_known)
@click.option("--prometheus", default="http://127.0.0.1:8088", help="Address of Prometheus.")
@click.option(
    "--application",
    default="shop",
    show_default=True,
    help="The application whose data is requested: shop, or an application of a hosting platform.",
)
@click.option(
    "--since-s", default=900.0, help="The time range of the queries up to now, in seconds."
)
def main(names: tuple[str, ...], prometheus: str, since_s: float, application: str) -> None:
    """Print the queries that have no data, for the dashboards NAMES or for all dashboards. The exit
    status is 1 if there are such queries.
    """
    now_s = time.time()
    without, count = empty(prometheus.rstrip("/"), now_s - since_s, now_s, names, application)
    for asked in without:
        click.echo(f"no data: {asked.dashboard}: {asked.panel} {asked.ref_id}: {asked.expr}")
    click.echo(f"{count - len(without)} of {count} queries have data")
    sys.exit(1 if without else 0)


if __name__ == "__main__":
    main()

"""Write HAProxy's configuration, and read its log and its statistics."""

import csv
import io
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, Final

from common import hosts
from gateway.http.pages import Rule
from lab.baselines import requests as limits
from lab.baselines.requests import Ended, Fate, Place, Queue

CONFIGURATION: Final = "haproxy.cfg"
LOG: Final = "haproxy.log"
ERRORS: Final = "haproxy-errors.log"
STATS: Final = "haproxy.sock"

STATS_QUESTION: Final = b"show stat\n"
_FIELDS: Final = 12
"""The number of fields in a log line (`_LOG_FORMAT`)."""
_LOG_FORMAT: Final = (
    "%[date(0,ms)] %[var(txn.came_ms)] %[var(txn.page)] %ST %ts %TR %Tw %Tc %Tr %Ta "
    "%[unique-id] %{+Q}r"
)


def configuration(parameters: Mapping[str, Any], rules: Sequence[Rule], place: Place) -> str:
    """Return the content of haproxy.cfg. `rules` define the page type of each request."""
    shop = hosts.authority(place.shop_host, place.shop_port)
    idle = f"pool-purge-delay {limits.SHOP_IDLE_S}s"
    # The headers of this response identify the request, and HAProxy as the sender.
    turned_away = (
        f"status 503 content-type 'text/html; charset=utf-8' string '{limits.BUSY}' "
        "hdr X-Doorbuster-Verdict dropped hdr X-Request-Id %[unique-id] hdr Cache-Control no-store"
    )
    lines = [
        "global",
        f"  maxconn {limits.CUSTOMERS}",
        # HAProxy writes a line for each request to standard output, without a buffer.
        "  log stdout len 4096 format raw local0 info",
        f"  stats socket {place.sockets / STATS} mode 600 level user",
        "",
        "defaults",
        "  mode http",
        "  log global",
        "  option dontlognull",
        "  option http-buffer-request",  # a slow upload does not occupy a worker of the shop
        "  option http-restrict-req-hdr-names delete",  # a_b and a-b are equal for a WSGI server
        # This is in `defaults` because it has no effect in a backend alone (haproxy/haproxy#2344).
        *(["  option abortonclose"] if place.abandonment == "cancel" else []),
        f"  timeout connect {limits.CONNECT_S}s",
        f"  timeout client {limits.IDLE_S}s",
        f"  timeout server {limits.IDLE_S}s",
        f"  timeout http-request {limits.HEAD_S}s",
        f"  timeout http-keep-alive {limits.IDLE_S}s",
        f"  timeout queue {_real_ms(parameters['queue_s'], place)}ms",
        f"  http-error {turned_away}",
        "",
        "frontend door",
        f"  bind {hosts.authority(place.host, place.port)} backlog {limits.BACKLOG}",
        "  unique-id-format %[uuid()]",
        "  unique-id-header X-Request-Id",
        f"  log-format '{_LOG_FORMAT}'",
        "  http-request set-var(txn.came_ms) date(0,ms)",
        *_forwarding(),
        *(_page(rule) for rule in rules),
        f"  http-request set-var(txn.page) str({limits.OTHER}) if !{{ var(txn.page) -m found }}",
        *(
            f"  http-request set-priority-class int({int(number)}) "
            f"if {{ var(txn.page) -m str {page} }}"
            for page, number in parameters["priorities"].items()
        ),
        f"  use_backend beside if {{ var(txn.page) -m str {limits.OTHER} }}",
        "  default_backend shop",
        "",
        "backend shop",
        *(
            [
                f"  http-request return {turned_away} "
                f"if {{ queue(shop) ge {parameters['maxqueue']} }}"
            ]
            if parameters["maxqueue"]
            else []
        ),
        "  http-reuse always",
        "  http-response del-header X-Doorbuster-Verdict",
        "  http-response set-header X-Request-Id %[unique-id]",
        f"  server shop {shop} maxconn {parameters['maxconn']} {idle}",
        "",
        "backend beside",
        "  http-reuse always",
        "  http-response del-header X-Doorbuster-Verdict",
        "  http-response set-header X-Request-Id %[unique-id]",
        f"  server shop {shop} maxconn {limits.OTHER_LIMIT} {idle}",
    ]
    return "\n".join(lines) + "\n"


def options(file: Path) -> list[str]:
    """Return the options with which HAProxy serves in the foreground. The options do not contain
    `-q`, because `-q` would close standard output, to which HAProxy writes its log.
    """
    return ["-db", "-f", str(file)]


def read_line(line: str) -> Ended | None:
    """Return the request that a log line describes; None if it describes no complete request.

    The first character of the termination state names the cause of an early end: C customer, S
    shop, c and s their timeouts, P and L HAProxy, - none. The second character is the phase: R
    request, Q queue, C connecting, H headers, D data.
    """
    fields = line.rstrip("\n").split(" ", _FIELDS - 1)
    if len(fields) < _FIELDS or not (fields[0].isdigit() and fields[1].isdigit()):
        return None
    ended_s, arrived_s = int(fields[0]) / 1000, int(fields[1]) / 1000
    page, state = fields[2], fields[4]
    queued_ms, answered_ms = int(fields[6]), int(fields[8])
    fate = _fate(state[:1], state[1:2], answered_ms >= 0)
    if fate is None:
        return None
    is_dispatched = fate not in ("dropped", "withdrawn")
    dispatched_s = arrived_s + max(0, queued_ms) / 1000 if is_dispatched else None
    return Ended(page, fate, arrived_s, dispatched_s, max(arrived_s, ended_s))


def _fate(cause: str, when: str, is_answered: bool) -> Fate | None:
    if cause in "LP" and when == "R":
        return "dropped"
    if when == "R":
        return None  # the request was not received completely
    if when == "Q":
        return "withdrawn" if cause == "C" else "dropped"
    if when == "C" and cause != "C":
        return "dropped"  # if the shop cannot be reached, the answer is that of a full queue
    if cause == "-":
        return "answered"
    if cause == "C":
        return "orphaned" if is_answered else "cancelled"
    return "failed"


def read_stats(text: str) -> Queue:
    """Return the queue in the answer to `STATS_QUESTION`; raises ValueError if it is not CSV."""
    rows = {
        (row["# pxname"], row["svname"]): row for row in csv.DictReader(io.StringIO(text.strip()))
    }
    try:
        shop, beside = rows["shop", "shop"], rows["beside", "shop"]
        waiting = int(shop["qcur"]) + int(rows["shop", "BACKEND"]["qcur"])
        connections = int(rows["door", "FRONTEND"]["scur"])
        in_service = int(shop["scur"])
        busy_beside = int(beside["scur"]) + int(rows["beside", "BACKEND"]["qcur"])
    except (KeyError, TypeError):
        raise ValueError("the answer does not contain HAProxy's statistics") from None
    return Queue(waiting, in_service, max(connections, busy_beside))


def _forwarding() -> list[str]:
    """Return the lines that forward a customer's address and scheme and remove forged headers."""
    return [
        *(f"  http-request del-header {name}" for name in limits.FORGEABLE),
        "  http-request del-header X-Forwarded- -m beg",
        "  http-request set-header X-Forwarded-For %[src]",
        "  http-request set-header X-Forwarded-Proto http",
        "  http-request set-header X-Forwarded-Host %[req.hdr(host)]",
        "  http-request add-header Via '1.1 haproxy'",
    ]


def _page(rule: Rule) -> str:
    """Return the configuration line for a page's rule. As in the gateway, the first matching rule
    decides, and the path is percent-decoded once.
    """
    methods = " ".join(sorted(method.decode() for method in rule.methods))
    pattern = _quoted(rf"^(?:{rule.path.pattern})\z")
    return (
        f"  http-request set-var(txn.page) str({rule.page}) if !{{ var(txn.page) -m found }} "
        f"{{ method {methods} }} {{ path,url_dec -m reg {pattern} }}"
    )


def _quoted(text: str) -> str:
    """Return the text in single quotes, in which only the quote is special."""
    return "'" + text.replace("'", "'\"'\"'") + "'"


def _real_ms(paper_s: float, place: Place) -> int:
    return max(1, round(1000 * paper_s / place.time_scale))

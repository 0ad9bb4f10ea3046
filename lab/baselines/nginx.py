"""Write nginx's configuration, and read its log and its status page."""

import re
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, Final

from common import hosts
from gateway.http.pages import Rule
from lab.baselines import requests as limits
from lab.baselines.requests import Ended, Fate, Place, Queue

CONFIGURATION: Final = "nginx.conf"
LOG: Final = "nginx.log"
ERRORS: Final = "nginx-errors.log"
STATS: Final = "nginx.sock"

STATS_QUESTION: Final = b"GET / HTTP/1.0\r\nHost: status\r\n\r\n"
_LOG_FORMAT: Final = (
    "$msec $page $status $request_time $upstream_status $upstream_response_time "
    '$limit_req_status $limit_conn_status "$request_completion" $request_id "$request"'
)
_FORGEABLE_SCHEMES: Final = tuple(f"X-Forwarded-{end}" for end in ("Port", "Protocol", "Ssl"))
"""The other X-Forwarded-* fields that Django or Gunicorn could read. They are listed, because nginx
can remove a field only by its full name.
"""
_LINE: Final = re.compile(
    r"(?P<ended>[\d.]+) (?P<page>\S+) (?P<status>\d+) (?P<took>[\d.]+) "
    r"(?P<upstream>-|\d+(?:, (?:-|\d+))*) (?P<upstream_took>-|[\d.]+(?:, (?:-|[\d.]+))*) "
    r'(?P<rate>\S+) (?P<connections>\S+) "(?P<completion>\w*)" '
)
_WRITING: Final = re.compile(r"Active connections: (\d+).*Writing: (\d+)", re.DOTALL)


def configuration(parameters: Mapping[str, Any], rules: Sequence[Rule], place: Place) -> str:
    """Return the content of nginx.conf. `rules` define the page type of each request."""
    temporary = "".join(
        f"  {kind}_temp_path {place.sockets}/{kind};\n"
        for kind in ("client_body", "proxy", "fastcgi", "uwsgi", "scgi")
    )
    pages = "".join(f"    {_page(rule)}\n" for rule in rules)
    limited = "".join(
        f"    {page} $server_name;\n" for page, limit in parameters["limited"].items() if limit
    )
    removed = "".join(
        f'      proxy_set_header {name} "";\n' for name in (*limits.FORGEABLE, *_FORGEABLE_SCHEMES)
    )
    nodelay = " nodelay" if parameters["nodelay"] else ""
    ignores = "off" if place.abandonment == "cancel" else "on"
    return f"""\
daemon off;
master_process off;
pid {place.sockets}/nginx.pid;
error_log stderr error;
events {{ worker_connections {2 * limits.CUSTOMERS}; }}
http {{
{temporary}\
  server_tokens off;
  merge_slashes off;
  tcp_nodelay on;
  keepalive_timeout {limits.IDLE_S}s;
  keepalive_requests 1000000000;
  client_header_timeout {limits.HEAD_S}s;
  client_body_timeout {limits.HEAD_S}s;
  client_max_body_size {limits.BODY_BYTES};
  log_format requests '{_LOG_FORMAT}';
  access_log "{_escaped(str(place.files / LOG))}" requests;

  map "$request_method $uri" $page {{
{pages}\
    default {limits.OTHER};
  }}
  # An empty key is not limited.
  map $page $limited {{
{limited}\
    default "";
  }}
  limit_req_zone $limited zone=rate:1m rate={rate_per_minute(parameters, place)}r/m;
  limit_req_status 503;
  limit_req_log_level info;
  limit_conn_zone $limited zone=connections:1m;
  limit_conn_status 503;
  limit_conn_log_level info;

  upstream shop {{
    server {hosts.authority(place.shop_host, place.shop_port)};
    keepalive 64;
    keepalive_requests 1000000000;
    keepalive_timeout {limits.SHOP_IDLE_S}s;
  }}

  server {{
    listen {hosts.authority(place.host, place.port)} backlog={limits.BACKLOG};
    server_name shop;
    location / {{
      limit_req zone=rate burst={parameters["burst"]}{nodelay};
      limit_conn connections {parameters["connections"]};
      error_page 503 = @turned_away;
      proxy_pass http://shop;
      proxy_http_version 1.1;
      proxy_ignore_client_abort {ignores};
      proxy_connect_timeout {limits.CONNECT_S}s;
      proxy_read_timeout {limits.IDLE_S}s;
      proxy_send_timeout {limits.IDLE_S}s;
      proxy_max_temp_file_size 0;
      proxy_buffers 64 16k;
      proxy_set_header Connection "";
      proxy_set_header Host $http_host;
      proxy_set_header X-Forwarded-For $remote_addr;
      proxy_set_header X-Forwarded-Proto $scheme;
      proxy_set_header X-Forwarded-Host $http_host;
      proxy_set_header X-Request-Id $request_id;
      proxy_set_header Via "1.1 nginx";
{removed}\
      proxy_hide_header X-Doorbuster-Verdict;
      proxy_hide_header X-Request-Id;
      add_header X-Request-Id $request_id always;
    }}
    location @turned_away {{
      default_type "text/html; charset=utf-8";
      add_header X-Doorbuster-Verdict dropped always;
      add_header X-Request-Id $request_id always;
      add_header Cache-Control no-store always;
      return 503 "{limits.BUSY}";
    }}
  }}
  server {{
    listen unix:{place.sockets / STATS};
    access_log off;
    location / {{ stub_status; }}
  }}
}}
"""


def rate_per_minute(parameters: Mapping[str, Any], place: Place) -> int:
    """Return the rate limit in requests per real minute. nginx accepts only whole numbers, and
    whole requests per real second would be too coarse.
    """
    paper_rps: float = parameters["rate_rps"] or parameters["rate_ratio"] * (
        place.capacity_rps or 0.0
    )
    return max(1, round(60 * paper_rps * place.time_scale))


def options(file: Path) -> list[str]:
    """Return the options with which nginx serves in the foreground, as a single process."""
    return ["-p", str(file.parent), "-c", str(file)]


def read_line(line: str) -> Ended | None:
    """Return the request of a log line; None unless it was forwarded, withdrawn or dropped."""
    found = _LINE.match(line)
    if found is None:
        return None
    ended_s = float(found["ended"])
    arrived_s = ended_s - float(found["took"])
    is_dispatched = found["upstream_took"] != "-"
    fate = _fate(
        int(found["status"]),
        "REJECTED" in (found["rate"], found["connections"]),
        is_dispatched,
        found["completion"] == "OK",
    )
    if fate is None:
        return None
    took = [float(part) for part in found["upstream_took"].split(", ") if part != "-"]
    dispatched_s = max(arrived_s, ended_s - sum(took)) if is_dispatched else None
    return Ended(found["page"], fate, arrived_s, dispatched_s, ended_s)


def _fate(status: int, is_rejected: bool, is_dispatched: bool, is_complete: bool) -> Fate | None:
    if is_rejected:
        return "dropped"
    if status == 499:  # nginx's own status: the customer has left
        return "cancelled" if is_dispatched else "withdrawn"
    if not is_dispatched:
        return None
    if status in (502, 504):  # the shop never sends this status
        return "failed"
    return "answered" if is_complete else "orphaned"


def read_stats(text: str) -> Queue:
    """Return the queue in the answer to `STATS_QUESTION`; raises ValueError if the text is not a
    status page. The result leaves out the status request itself. nginx counts delayed requests as
    in service."""
    found = _WRITING.search(text)
    if found is None:
        raise ValueError("not a status page of nginx")
    return Queue(None, int(found[2]) - 1, int(found[1]) - 1)


def _page(rule: Rule) -> str:
    """Return the configuration line for a page's rule. The first matching rule decides, and `$uri`
    is percent-decoded once.
    """
    methods = "|".join(sorted(method.decode() for method in rule.methods))
    pattern = rf"~^(?:{methods}) (?:{rule.path.pattern})\z"
    return f'"{_escaped(pattern)}" {rule.page};'


def _escaped(text: str) -> str:
    """Return the text escaped for double quotes, in which a backslash is special only before
    another backslash or a quote.
    """
    return text.replace("\\", "\\\\").replace('"', '\\"')

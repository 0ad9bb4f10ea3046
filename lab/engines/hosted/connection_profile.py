"""Measure the costs of an application's connections on this machine (eDragon's static profiling).

One application runs on all processors, without other load. The measurement first makes full and
resumed handshakes, then runs a few sessions of the partly-open model. The costs are the CPU time of
the application's processes, minus the CPU time that they use when idle. Source: eDragon, section
3.2.1.
"""

import socket
import ssl
import tempfile
import time
from bisect import bisect_right
from collections import Counter, defaultdict
from collections.abc import Callable
from dataclasses import asdict, dataclass
from datetime import UTC, datetime
from pathlib import Path

from common import cpus
from common.waiting import wait_until
from hosting.platform import Platform
from hosting.running import RunningApplication
from lab.engines.hosted.connection_costs import ConnectionCosts
from lab.engines.load_generators import LoadGenerator, run_loads
from lab.errors import ExperimentError
from lab.machine.description import fingerprint
from loadgen.plan import LoadPlan, PartlyOpen
from loadgen.records.attempt_log import read_attempts
from loadgen.records.attempts import AttemptOutcome
from loadgen.records.connection_log import ConnectionKind, connections_file, read_connections
from loadgen.workload.load_schedule import RateStep
from loadgen.workload.partly_open import PartlyOpenModel

IDLE_REAL_S = 5.0
HANDSHAKES_REAL_S = 5.0
LEAST_HANDSHAKES, MOST_HANDSHAKES = 20, 2_000
LOAD_RATIO = 0.25
"""The load of the measured sessions, in processors. At this load, requests rarely wait and no
customer leaves.
"""
GUESSED_WORK_S = {"paper": 0.18, "cpu": 0.30, "real": 0.0}
"""The estimated work of a page for each page profile, in paper seconds of CPU time. The estimate
determines only the rate of the measured sessions.
"""
GUESSED_OWN_REAL_S = 0.015
"""The estimated CPU time, in real seconds, of all other work for a page and its images."""
TIMEOUT_S = 100.0
_PATIENCE_S = 120.0


@dataclass(frozen=True, slots=True)
class SessionCounts:
    """The sessions, connections and replies that the customers counted."""

    sessions: int
    new: int
    resumed: int
    replies_over_new: int
    replies_over_resumed: int

    @property
    def replies(self) -> int:
        return self.replies_over_new + self.replies_over_resumed


@dataclass(frozen=True, slots=True)
class Split:
    """The costs that `split` calculates, in the unit of its arguments."""

    reply_s: float
    cto_s: float
    ctn_s: float
    session_s: float


def split(cpu_s: float, full_s: float, resumed_s: float, counts: SessionCounts) -> Split:
    """Divide `cpu_s` into the costs of replies, resumed connections and new connections.

    The cost of a reply is the CPU time without the handshakes, divided by the number of replies.
    CTN is the cost of a full handshake and of the mean number of replies over a new connection. CTO
    is the corresponding cost of a resumed connection. Raises ExperimentError if a count is 0, or if
    the handshakes alone would have taken `cpu_s` or more.
    """
    if not counts.replies or not counts.new or not counts.resumed:
        raise ExperimentError(
            f"The sessions made {counts.new} new and {counts.resumed} resumed connections with "
            f"{counts.replies} replies; none of these numbers may be 0. Measure with more "
            "sessions."
        )
    reply_s = (cpu_s - counts.new * full_s - counts.resumed * resumed_s) / counts.replies
    if reply_s <= 0:
        raise ExperimentError(
            "The handshakes of the sessions cost more than the whole sessions, so another program "
            "must have run during a measurement. Measure again while no other program runs."
        )
    return Split(
        reply_s=reply_s,
        cto_s=resumed_s + reply_s * counts.replies_over_resumed / counts.resumed,
        ctn_s=full_s + reply_s * counts.replies_over_new / counts.new,
        session_s=cpu_s / counts.sessions,
    )


def measure(
    platform: Platform, *, interactions_mean: float, sessions: int, say: Callable[[str], None]
) -> ConnectionCosts:
    """Measure the costs on a platform without admission control; the caller holds the machine's
    lock. Raises ExperimentError or HostingError if a step fails."""
    application = platform.applications[0]
    options = platform.options
    shops = len(application.controller_ports)
    say(
        f"The start of a gateway and {shops} shop processes took {application.cpu_s():.1f} s of CPU"
    )
    idle_ratio = _idle(application)
    say(f"Without load, the application uses {100 * idle_ratio:.1f} % of a processor")
    full_s = _handshakes(application, idle_ratio, resume=False)
    resumed_s = _handshakes(application, idle_ratio, resume=True)
    say(f"CPU per handshake: full {1000 * full_s:.2f} ms, resumed {1000 * resumed_s:.2f} ms")
    cpu_s, counts = _sessions(platform, idle_ratio, full_s, interactions_mean, sessions, say)
    found = split(cpu_s, full_s, resumed_s, counts)
    scale = options.time_scale
    return ConnectionCosts(
        **{name: real_s * scale for name, real_s in asdict(found).items()},
        handshake_full_s=full_s * scale,
        handshake_resumed_s=resumed_s * scale,
        replies_per_new=counts.replies_over_new / counts.new,
        replies_per_resumed=counts.replies_over_resumed / counts.resumed,
        resumed_per_session=counts.resumed / counts.sessions,
        sessions=counts.sessions,
        key=options.key,
        profile=options.profile,
        time_scale=scale,
        interactions_mean=interactions_mean,
        machine=fingerprint(platform.lab),
        measured_at=datetime.now(UTC).isoformat(timespec="seconds"),
    )


def _idle(application: RunningApplication) -> float:
    began_s, before_s = time.monotonic(), application.cpu_s()
    time.sleep(IDLE_REAL_S)
    return (application.cpu_s() - before_s) / (time.monotonic() - began_s)


def _handshakes(application: RunningApplication, idle_ratio: float, *, resume: bool) -> float:
    """Return the CPU time, in real seconds, of a connection without a request."""
    context = ssl.create_default_context(cafile=str(application.authority))
    session = _ticket(application, context) if resume else None
    kind = "resumed" if resume else "new"
    before = application.snapshot()["connections"][kind]
    began_s, before_s = time.monotonic(), application.cpu_s()
    made = 0
    while made < MOST_HANDSHAKES and (
        made < LEAST_HANDSHAKES or time.monotonic() < began_s + HANDSHAKES_REAL_S
    ):
        with _connected(application, context, session) as connection:
            if bool(connection.session_reused) is not resume:
                other = "new" if resume else "resumed"
                raise ExperimentError(
                    f"{application.name} made a {other} connection instead of a {kind} connection; "
                    "see the log of the application's gateway."
                )
        made += 1
    _wait_for(application, kind, before + made)
    cpu_s = application.cpu_s() - before_s - idle_ratio * (time.monotonic() - began_s)
    return max(0.0, cpu_s) / made


def _connected(
    application: RunningApplication, context: ssl.SSLContext, session: ssl.SSLSession | None
) -> ssl.SSLSocket:
    address = ("127.0.0.1", application.plan.tls_port)
    return context.wrap_socket(
        socket.create_connection(address, timeout=_PATIENCE_S),
        server_hostname=address[0],
        session=session,
    )


def _ticket(application: RunningApplication, context: ssl.SSLContext) -> ssl.SSLSession:
    """Return a resumable TLS session, which a server sends with its first data in TLS 1.3."""
    with _connected(application, context, None) as connection:
        connection.sendall(b"GET / HTTP/1.1\r\nHost: shop\r\nConnection: close\r\n\r\n")
        while connection.recv(65536):
            pass
        session = connection.session
    if session is None:
        raise ExperimentError(
            f"{application.name} did not supply a TLS session that can be resumed."
        )
    return session


def _wait_for(application: RunningApplication, kind: str, count: int) -> None:
    def is_done() -> bool:
        seen = application.snapshot()["connections"]
        return seen[kind] >= count and not seen["under_way"] and not seen["customers"]

    if not wait_until(is_done, _PATIENCE_S):
        raise ExperimentError(f"{application.name} has not closed all its connections.")


def _sessions(
    platform: Platform,
    idle_ratio: float,
    full_s: float,
    interactions_mean: float,
    sessions: int,
    say: Callable[[str], None],
) -> tuple[float, SessionCounts]:
    """Run about `sessions` sessions; return their CPU time in real seconds, and their counts."""
    application = platform.applications[0]
    options = platform.options
    interaction_s = GUESSED_WORK_S[options.profile] + GUESSED_OWN_REAL_S * options.time_scale
    session_s = interactions_mean * interaction_s + full_s * options.time_scale
    rate_ps = LOAD_RATIO / session_s
    until_s = sessions / rate_ps
    say(f"Running about {sessions} sessions, at least {until_s / options.time_scale:.0f} s")
    with tempfile.TemporaryDirectory(prefix="doorbuster-connections-") as name:
        attempts_file = Path(name) / "attempts.parquet"
        began_s, before_s = time.monotonic(), application.cpu_s()
        plan = LoadPlan(
            load=PartlyOpen(
                model=PartlyOpenModel(interactions_mean, timeout_s=TIMEOUT_S),
                steps=(RateStep(0, round(rate_ps, 6)), RateStep(round(until_s, 3), 0)),
            ),
            authority=application.authority,
            time_scale=options.time_scale,
            seed=options.seed,
            attempts_file=attempts_file,
        )
        log = Path(name) / "loadgen.log"
        load = LoadGenerator(application.https_url, plan, log, lambda progress: None)
        run_loads([load], tuple(sorted(cpus.usable())))
        _wait_for(application, "new", 0)
        cpu_s = application.cpu_s() - before_s - idle_ratio * (time.monotonic() - began_s)
        return cpu_s, counted(attempts_file)


def counted(attempts_file: Path) -> SessionCounts:
    """Return the counts of a partly-open run, with the replies over new and over resumed
    connections.

    Raises ExperimentError if more than 1 % of the requests were not served.
    """
    opened: dict[int, list[tuple[float, str]]] = defaultdict(list)
    kinds: Counter[str] = Counter()
    for row in read_connections(connections_file(attempts_file)).to_pylist():
        kinds[row["kind"]] += 1
        if row["kind"] in (ConnectionKind.NEW, ConnectionKind.RESUMED):
            opened[row["session"]].append((row["opened_s"], row["kind"]))
    for connections in opened.values():
        connections.sort()
    over: Counter[str] = Counter()
    asked = 0
    for row in read_attempts(attempts_file).to_pylist():
        if row["outcome"] == AttemptOutcome.NOT_GENERATED:
            continue
        asked += 1
        if row["outcome"] == AttemptOutcome.COMPLETED:
            connections = opened[row["session"]]
            # The last connection that was opened before the reply.
            index = bisect_right(connections, row["finished_s"], key=lambda one: one[0]) - 1
            over[connections[max(0, index)][1]] += 1
    if over.total() < 0.99 * asked:
        raise ExperimentError(
            f"{over.total()} of {asked} requests were served; at least 99 % must be. Measure again "
            "while no other program runs."
        )
    return SessionCounts(
        sessions=len(opened),
        new=kinds[ConnectionKind.NEW],
        resumed=kinds[ConnectionKind.RESUMED],
        replies_over_new=over[ConnectionKind.NEW],
        replies_over_resumed=over[ConnectionKind.RESUMED],
    )

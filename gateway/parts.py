"""The parts of the gateway through which requests pass, created from the settings."""

import asyncio
import os
import secrets
from collections.abc import Callable
from dataclasses import fields
from typing import TypeVar

from common.http_api import Callers
from common.telemetry import export_to
from gateway.clock import PaperClock
from gateway.http import pages
from gateway.http.connections import Connections, Deadlines
from gateway.http.customer import Frontend
from gateway.http.exchange import Exchange, ResponseContext
from gateway.http.hangups import Hangups
from gateway.http.limits import BodyLimits, CustomerLimits, HeadLimits
from gateway.http.session_cookie import SessionCookie
from gateway.http.sessions import Sessions
from gateway.http.upstream import Balance, Pool, Processors, ShopAddress
from gateway.policies.interface import Policy
from gateway.policies.processor_assignment import INTERVAL_S
from gateway.queues.load_probe import LoadProbe
from gateway.queues.request_queues import BypassQueue, PolicyQueue
from gateway.queues.routing import ADS, OTHER, Bypass, Router
from gateway.settings import Settings, SettingsError, variable
from gateway.shadow.shadows import Shadows
from gateway.tls.context import CertificateError, server_context
from gateway.tls.gate import ConnectionGate
from gateway.tls.handshake import Handshakes
from gateway.tls.processor_client import ProcessorClient
from gateway.tls.processor_protocol import Register
from gateway.tracing import Tracer


class Parts:
    """All parts of a gateway between a customer's connection and the shop. Raises RulesError if
    `pages_file` is unusable, PolicyError if the choice of the admission policy for connections is
    invalid, and SettingsError if a certificate or the trace exporter is unusable.
    """

    def __init__(
        self,
        settings: Settings,
        loop: asyncio.AbstractEventLoop,
        policy: Policy,
        *,
        needs_sessions: bool,
        on_end: Callable[[str, str, str, float], None],
    ) -> None:
        """Create the parts.

        `needs_sessions` is true if the policy uses sessions. `on_end` receives the policy, the
        page, the fate and the duration, in paper seconds, of each request that ends.
        """
        self.settings = settings
        rules = pages.load(settings.pages_file)
        self.clock = PaperClock(settings.time_scale)
        self.deadlines = Deadlines(loop)
        self.hangups = Hangups(loop)
        self._on_end = on_end
        self.processors = Processors()
        shop_ports = settings.shop_ports or (settings.shop_port,)
        shops = self._balance(loop, settings.shop_host, *shop_ports)
        self.pages = PolicyQueue(
            loop,
            self.clock,
            policy,
            workers=settings.workers,
            serve=shops.serve,
            observe=self._observe,
            abandonment=settings.abandonment,
        )
        self.shadow_policies = Shadows(self.pages.dispatcher, self.clock)
        self.pools = [*shops.pools]
        self.bypasses: list[Bypass] = []
        if settings.ads_port is not None:
            ads = self._balance(loop, settings.ads_host, settings.ads_port)
            self.bypasses.append(self._bypass(ADS, b"/ads/", settings.ads_limit, ads))
            self.pools += ads.pools
        self.bypasses.append(self._bypass(OTHER, b"", settings.other_limit, shops))
        self.sessions = Sessions(
            _signed_cookie(settings),
            self.clock,
            shop_cookie=settings.session_cookie,
            timeout_s=settings.session_timeout_s,
            is_guarded=needs_sessions,
        )
        self.connections = Connections(self.deadlines, most=settings.max_connections)
        self.context = ResponseContext(self.sessions, self.connections)
        self.tracer = self._tracer()
        self.front = Frontend(
            loop,
            self.connections,
            self.context,
            self.hangups,
            _limits(HeadLimits, settings),
            _limits(BodyLimits, settings),
            _limits(CustomerLimits, settings),
            Router(rules, self.context, self.pages, self.bypasses, self.tracer).exchange_of,
        )
        self.gate = ConnectionGate(
            loop,
            self.clock,
            settings.connection_admission,
            settings.connection_admission_parameters,
            most_processors=len(shop_ports),  # a shop process uses at most one
        )
        self.handshakes = _handshakes(settings, self.front, self.gate)
        self.cpu_manager = self._cpu_manager()
        self.probe = LoadProbe(
            self.clock,
            host=settings.shop_host,
            port=settings.shop_controller_port,
            token=settings.inner_token.encode() or None,
            interval_s=settings.utilisation_interval_s,
            hand_over=self.pages.load_sample,
        )

    @property
    def requests(self) -> int:
        """The number of requests that wait or are in service, including those of bypasses."""
        return self.pages.requests + sum(one.queue.requests for one in self.bypasses)

    def _balance(self, loop: asyncio.AbstractEventLoop, host: str, *ports: int) -> Balance:
        settings = self.settings

        def pool(port: int) -> Pool:
            address = ShopAddress(
                host,
                port,
                settings.connect_s,
                settings.response_s,
                settings.shop_idle_s,
                settings.cancel_s,
            )
            limits = _limits(HeadLimits, settings), _limits(BodyLimits, settings)
            return Pool(loop, address, self.deadlines, *limits)

        return Balance([pool(port) for port in ports], self.processors)

    def _bypass(self, name: str, prefix: bytes, limit: int, servers: Balance) -> Bypass:
        queue = BypassQueue(
            self.clock,
            limit=limit,
            capacity=self.settings.other_queue,
            serve=servers.serve,
            observe=lambda exchange, fate: self._observe(exchange, fate, name),
            abandonment=self.settings.abandonment,
        )
        return Bypass(name, prefix, queue)

    def _tracer(self) -> Tracer | None:
        """Return the tracer; None if no request is traced. Raises SettingsError if the tracer's
        libraries are missing.
        """
        settings = self.settings
        if not settings.telemetry_endpoint or not settings.telemetry_sampled_ratio:
            return None
        return Tracer(
            export_to(settings.telemetry_endpoint, "doorbuster-gateway"),
            settings.telemetry_sampled_ratio,
            lambda: self.pages.dispatcher.policy.name,
        )

    def _cpu_manager(self) -> ProcessorClient | None:
        settings = self.settings
        if settings.cpu_manager is None:
            return None
        process = settings.cpu_manager_process or os.getppid()
        client = ProcessorClient(
            settings.cpu_manager,
            Register(settings.application, settings.priority, process),
            # A request also follows when the timer of the admission policy for connections is due,
            # or when this policy is switched.
            interval_s=lambda: self.clock.real_s(INTERVAL_S),
            requested=lambda: self.gate.request_to_send,
            assigned=self._assigned,
        )
        self.gate.requested_anew = client.wake
        return client

    def _assigned(self, processors: float) -> None:
        self.gate.assigned(processors)
        self.processors.assigned = processors

    def _observe(self, exchange: Exchange, fate: str, name: str = "") -> None:
        page = exchange.page or name
        policy = self.pages.dispatcher.policy.name
        self._on_end(policy, page, fate, self.clock() - exchange.arrived_s)


L = TypeVar("L", HeadLimits, BodyLimits, CustomerLimits)


def _limits(kind: type[L], settings: Settings) -> L:
    """Return limits with the values of the settings that have the same names."""
    return kind(**{field.name: getattr(settings, field.name) for field in fields(kind)})


def _signed_cookie(settings: Settings) -> SessionCookie:
    """Return the signed cookie, with a random key if no key is configured."""
    secret = settings.cookie_key.encode() or secrets.token_bytes(32)
    return SessionCookie(secret, settings.signed_cookie.encode())


def admin_callers(settings: Settings) -> Callers:
    """Return the callers that the admin API accepts."""
    given = [name.strip().lower() for name in settings.admin_names.split(",") if name.strip()]
    own = (settings.admin_host, settings.reached_host or "localhost")
    token = settings.inner_token if settings.inner_token_required else None
    return Callers.of((*own, *given), token)


def _handshakes(settings: Settings, front: Frontend, gate: ConnectionGate) -> Handshakes | None:
    """Return the object that all TLS handshakes share; None without a port for TLS. Raises
    SettingsError if the certificate's files cannot be used.
    """
    if settings.tls_port is None:
        return None
    assert settings.tls_certificate is not None
    assert settings.tls_key is not None
    try:
        context = server_context(
            settings.tls_certificate, settings.tls_key, settings.tls_minimum, gate.connection
        )
    except CertificateError as error:
        raise SettingsError(f"{variable(error.field)}: {error}") from None
    return Handshakes(
        front,
        gate,
        context,
        threads=settings.tls_handshakes or len(os.sched_getaffinity(0)),
        most_under_way=settings.tls_waiting,
        deadline_s=settings.tls_handshake_s,
    )

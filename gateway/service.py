"""The whole gateway, put together.

Owns: making the parts from the settings, starting and ending them in order.
Must not know: what any part does inside.
"""

import asyncio
import logging
from collections.abc import Callable, Mapping, Sequence

from gateway import pages, parts
from gateway.admin import AdminApi
from gateway.admin_server import AdminConnection, AdminPlaces
from gateway.balance import Balance, Processors
from gateway.clock import PaperClock
from gateway.connection_gate import ConnectionGate
from gateway.connections import Connections
from gateway.customer import Customer
from gateway.deadlines import Deadlines
from gateway.exchange import Exchange
from gateway.figures import GatewayFigures
from gateway.frontend import Frontend
from gateway.hangups import Hangups
from gateway.lanes import OtherLane, PolicyLane
from gateway.load_probe import LoadProbe
from gateway.metrics import GatewayMetrics, ResponseTimes
from gateway.parts import authority
from gateway.policies import Abandonment
from gateway.policies.interface import Policy
from gateway.policy_choice import PolicyChoice
from gateway.reading_room import ReadingRoom
from gateway.response_context import ResponseContext
from gateway.routing import ADS, OTHER, Bypass, Router
from gateway.sessions import Sessions
from gateway.settings import Settings, SettingsError, variable
from gateway.shadow import ShadowError
from gateway.shadows import MOST as MOST_SHADOWS
from gateway.shadows import Shadows
from gateway.students.limits import IN_THE_GATEWAY, Limits
from gateway.students.stand_in import FallBack
from gateway.tls_handshake import Handshake
from gateway.turns import Turns
from gateway.upstream import Pool, ShopAddress

log = logging.getLogger("gateway")


class Gateway:
    """One gateway; `start`, then `drain` once.

    Raises PolicyError, RulesError and SettingsError (a certificate) when made.
    """

    def __init__(self, settings: Settings, loop: asyncio.AbstractEventLoop) -> None:
        self.settings = settings
        self._loop = loop
        self.policy_fallbacks = 0
        """Students' policies that were given up, since the start."""
        self._policy_turns = Turns()
        self.reading_room = ReadingRoom()
        self.choice = PolicyChoice.of(
            settings.policy,
            settings.policy_parameters,
            settings.admission,
            settings.admission_parameters,
        )
        policy = self._make(self.choice)
        rules = pages.load(settings.pages_file)
        self.clock = PaperClock(settings.time_scale)
        self.deadlines = Deadlines(loop)
        self.hangups = Hangups(loop)
        self._times = ResponseTimes(policy.name)
        head_limits, body_limits = parts.head_limits(settings), parts.body_limits(settings)

        def connections(host: str, port: int) -> Pool:
            address = ShopAddress(
                host,
                port,
                settings.connect_s,
                settings.response_s,
                settings.shop_idle_s,
                settings.cancel_s,
            )
            return Pool(loop, address, self.deadlines, head_limits, body_limits)

        def balance(host: str, *ports: int) -> Balance:
            return Balance([connections(host, port) for port in ports], self.processors)

        def bypass(name: str, prefix: bytes, limit: int, servers: Balance) -> Bypass:
            lane = OtherLane(
                self.clock,
                limit=limit,
                capacity=settings.other_queue,
                serve=servers.serve,
                observe=lambda exchange, fate: self._observe(exchange, fate, name),
                abandonment=settings.abandonment,
            )
            return Bypass(name, prefix, lane, servers.pools)

        self.processors = Processors()
        shop = (settings.shop_host, *(settings.shop_ports or (settings.shop_port,)))
        shops = balance(*shop)
        self.pages = PolicyLane(
            loop,
            self.clock,
            policy,
            workers=settings.workers,
            serve=shops.serve,
            observe=self._observe,
            abandonment=settings.abandonment,
        )
        self.shadow_policies = Shadows(self.pages.dispatcher, self.clock)
        self.bypasses: list[Bypass] = []
        if settings.ads_port is not None:
            ads = balance(settings.ads_host, settings.ads_port)
            self.bypasses.append(bypass(ADS, b"/ads/", settings.ads_limit, ads))
        self.bypasses.append(bypass(OTHER, b"", settings.other_limit, balance(*shop)))
        self.pools = [*shops.pools, *(pool for one in self.bypasses for pool in one.pools)]
        self.sessions = Sessions(
            parts.signed_cookie(settings),
            self.clock,
            shop_cookie=settings.session_cookie,
            timeout_s=settings.session_timeout_s,
            is_guarded=self.choice.needs_sessions,
        )
        self.connections = Connections(self.deadlines, most=settings.max_connections)
        self.context = ResponseContext(
            self.sessions,
            parts.own_hosts(settings),
            is_draining=lambda: self.connections.is_draining,
        )
        router = Router(rules, self.context, self.pages, self.bypasses)
        self.front = Frontend(
            loop,
            self.connections,
            self.context,
            self.hangups,
            head_limits,
            body_limits,
            parts.customer_limits(settings),
            router.exchange_of,
        )
        self.gate = ConnectionGate(
            loop,
            self.clock,
            settings.connection_admission,
            settings.connection_admission_parameters,
        )
        self.cpu_manager = parts.cpu_manager(settings, self.clock, self.gate, self._assigned)
        self._handshakes = parts.handshakes(settings, self.front, self.gate)
        self.probe = LoadProbe(
            self.clock,
            host=settings.shop_host,
            port=settings.shop_controller_port,
            token=parts.sent_token(settings),
            interval_s=settings.utilisation_interval_s,
            hand_over=self.pages.load_sample,
        )
        self.figures = GatewayFigures(self)
        self.metrics = GatewayMetrics(self.figures, self._times)
        self._admin_places = AdminPlaces()
        self._api = AdminApi(self, parts.admin_names(settings), parts.expected_token(settings))
        self._server: asyncio.Server | None = None
        self._tls_server: asyncio.Server | None = None
        self._admin_server: asyncio.Server | None = None

    async def start(self) -> None:
        """Begins to accept callers and customers; raises SettingsError when a port is taken."""
        self._server = await self._listen(lambda: Customer(self.front), "host", "port")
        if (handshakes := self._handshakes) is not None:
            self._tls_server = await self._listen(lambda: Handshake(handshakes), "host", "tls_port")
        # The last: who finds it healthy finds the doors open.
        self._admin_server = await self._listen(
            lambda: AdminConnection(self.deadlines, self._api.answer, self._admin_places),
            "admin_host",
            "admin_port",
        )
        self.gate.start()
        if self.cpu_manager is not None:
            self.cpu_manager.start()
        self.deadlines.start()
        self.probe.start()

    async def _listen(
        self, protocol: Callable[[], asyncio.Protocol], host_field: str, port_field: str
    ) -> asyncio.Server:
        host, port = getattr(self.settings, host_field), getattr(self.settings, port_field)
        try:
            return await self._loop.create_server(
                protocol, host, port, backlog=self.settings.backlog, reuse_port=False
            )
        except OSError as error:
            names = f"{variable(host_field)} and {variable(port_field)}"
            reason = error.strerror or error
            raise SettingsError(f"cannot listen on {host}:{port}: {reason}; see {names}") from None

    @property
    def port(self) -> int:
        """The port customers connect to, once started."""
        return _port(self._server)

    @property
    def tls_port(self) -> int:
        """The port customers connect to by TLS, once started."""
        return _port(self._tls_server)

    @property
    def admin_port(self) -> int:
        """The port of the admin API, once started."""
        return _port(self._admin_server)

    @property
    def addresses(self) -> list[str]:
        """Where customers come to, once started."""
        found = [f"http://{authority(self.settings.host, self.port)}"]
        if self._tls_server is not None:
            found.append(f"https://{authority(self.settings.host, self.tls_port)}")
        return found

    @property
    def requests(self) -> int:
        """Requests that wait or are in service, of all kinds."""
        return self.pages.requests + sum(one.lane.requests for one in self.bypasses)

    async def drain(self) -> bool:
        """Accepts nobody any more, answers who is there, ends; False if the time ran out."""
        for server in (self._server, self._tls_server):
            if server is not None:
                server.close()
        self.connections.drain()
        deadline_s = self._loop.time() + self.settings.drain_s
        while self.connections.customers or self.requests:
            if self._loop.time() >= deadline_s:
                break
            await asyncio.sleep(0.02)
        is_clean = not (self.connections.customers or self.requests)
        for customer in list(self.connections.customers):
            customer.abort()
        await asyncio.sleep(0)  # connections end in the next round of the loop
        for pool in self.pools:
            pool.close()
        if self._handshakes is not None:
            self._handshakes.close()
        if self.cpu_manager is not None:
            self.cpu_manager.stop()
        self.gate.stop()
        self.deadlines.stop()
        self.hangups.close()
        self.probe.stop()
        self.reading_room.close()
        if self._admin_server is not None:
            self._admin_server.close()
        return is_clean

    # ---- as the admin API's gateway --------------------------------------------------------------

    @property
    def is_draining(self) -> bool:
        return self.connections.is_draining

    def snapshot(self) -> Mapping[str, object]:
        return self.figures.snapshot()

    def queue(self, limit: int) -> Mapping[str, object]:
        return self.figures.queue(limit)

    def switch_policy(self, choice: PolicyChoice) -> None:
        """Puts a fresh policy in; raises PolicyError and changes nothing."""
        self._put_in(choice, self._make(choice), self._policy_turns.ask())

    async def switch_later(self, choose: Callable[[], PolicyChoice]) -> None:
        """The same for a student's file: customers are served while its process starts.

        Raises OvertakenError if another was asked for, and put in, meanwhile, and FullError.
        """
        turn = self._policy_turns.ask()

        def make() -> tuple[PolicyChoice, Policy]:
            choice = choose()
            return choice, self._make(choice)

        self._put_in(*await self.reading_room.do(make), turn)

    def _make(self, choice: PolicyChoice) -> Policy:
        limits = Limits(decision_s=self.settings.own_policy_s)

        def fell_back(why: FallBack) -> None:
            self.policy_fallbacks += 1
            log.warning("policy %s fell back to FIFO: %s", choice.name, why.reason)

        return choice.make(limits, fell_back)

    def _put_in(self, choice: PolicyChoice, policy: Policy, turn: int) -> None:
        self._policy_turns.take(turn)
        try:
            self.pages.switch(policy)
        finally:
            if self.pages.dispatcher.policy is policy:  # else it failed before it was in force
                self.choice = choice
                self.metrics.switched(policy.name)
                self._guard()

    def _guard(self) -> None:
        """Shadows, too, must know which pages are of one session."""
        self.sessions.guard(self.choice.needs_sessions or bool(self.shadow_policies.entries))

    def make_shadow(self, choice: PolicyChoice) -> Policy:
        def fell_back(why: FallBack) -> None:
            raise ShadowError(why.reason)

        # All shadows together take no more of a CPU than the one that acts.
        share_ratio = IN_THE_GATEWAY.share_ratio / (MOST_SHADOWS + 1)
        limits = Limits(decision_s=self.settings.own_policy_s, share_ratio=share_ratio)
        return choice.make(limits, fell_back)

    def replace_shadows(self, made: Sequence[tuple[PolicyChoice, Policy]]) -> None:
        self.shadow_policies.replace(
            [(choice.label, choice.described(), policy) for choice, policy in made]
        )
        self._shadows_changed()

    def add_shadow(self, choice: PolicyChoice, policy: Policy) -> None:
        self.shadow_policies.add(choice.label, choice.described(), policy)
        self._shadows_changed()

    def take_shadow_away(self, name: str) -> None:
        self.shadow_policies.take_away(name)
        self._shadows_changed()

    def _shadows_changed(self) -> None:
        self._guard()
        self.pages.set_timer()

    def shadows(self) -> Mapping[str, object]:
        return self.figures.shadows()

    def change(
        self,
        *,
        time_scale: float | None,
        utilisation_interval_s: float | None,
        abandonment: Abandonment | None,
    ) -> Mapping[str, object]:
        """Changes the pace of paper time, how often the load is sampled, what leaving does."""
        if time_scale is not None:
            self.pages.set_time_scale(time_scale)
            self.probe.restart_interval()
            self.gate.reschedule()
        if utilisation_interval_s is not None:
            self.probe.interval_s = utilisation_interval_s
        if abandonment is not None:
            self.pages.dispatcher.abandonment = abandonment
            for one in self.bypasses:
                one.lane.abandonment = abandonment
        return {
            "time_scale": self.clock.scale,
            "utilisation_interval_s": self.probe.interval_s,
            "abandonment": self.pages.dispatcher.abandonment,
        }

    def switch_connection_admission(
        self, name: str, parameters: Mapping[str, object]
    ) -> Mapping[str, object]:
        """Puts a fresh policy before the TLS door; raises PolicyError and changes nothing."""
        self.gate.replace(name, parameters)
        return self.gate.described()

    def metrics_text(self) -> bytes:
        return self.metrics.text()

    def _assigned(self, processors: float) -> None:
        self.gate.assigned(processors)
        self.processors.assigned = processors

    def _observe(self, exchange: Exchange, fate: str, name: str = "") -> None:
        page = exchange.page or name
        policy = self.pages.dispatcher.policy.name
        self._times.add(policy, page, fate, self.clock() - exchange.arrived_s)


def _port(server: asyncio.Server | None) -> int:
    assert server is not None
    return int(server.sockets[0].getsockname()[1])

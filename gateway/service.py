"""The whole gateway, put together.

Owns: making the parts from the settings, starting and ending them in order.
Must not know: what any part does inside.
"""

import asyncio
import secrets
from collections import Counter
from collections.abc import Callable, Mapping

from gateway import pages
from gateway.admin import AdminApi
from gateway.admin_server import AdminConnection
from gateway.clock import PaperClock
from gateway.customer import Customer, CustomerLimits
from gateway.deadlines import Deadlines
from gateway.door import Door
from gateway.exchange import Exchange
from gateway.hangups import Hangups
from gateway.lanes import OtherLane, PolicyLane
from gateway.limits import BodyLimits, HeadLimits
from gateway.load_probe import LoadProbe
from gateway.metrics import GatewayMetrics, ResponseTimes
from gateway.policies.interface import PAGES, Abandonment
from gateway.policy_choice import PolicyChoice
from gateway.sessions import Sessions
from gateway.settings import Settings, SettingsError, variable
from gateway.upstream import Pool, ShopAddress


class Gateway:
    """One gateway; `start`, then `drain` once. Raises PolicyError and RulesError when made."""

    def __init__(self, settings: Settings, loop: asyncio.AbstractEventLoop) -> None:
        self.settings = settings
        self._loop = loop
        self._choice = PolicyChoice(
            settings.policy,
            settings.policy_parameters,
            settings.admission,
            settings.admission_parameters,
        )
        policy = self._choice.make()
        rules = pages.load(settings.pages_file)
        self.clock = PaperClock(settings.time_scale)
        self.deadlines = Deadlines(loop)
        self.hangups = Hangups(loop)
        self._times = ResponseTimes()
        self._metrics = GatewayMetrics(self, self._times)
        head_limits = HeadLimits(
            settings.start_line_bytes, settings.head_bytes, settings.header_fields
        )
        body_limits = BodyLimits(
            settings.body_bytes, settings.chunk_extension_bytes, settings.trailer_bytes
        )
        address = ShopAddress(
            settings.shop_host,
            settings.shop_port,
            settings.connect_s,
            settings.response_s,
            settings.shop_idle_s,
            settings.cancel_s,
        )
        self.page_pool = Pool(loop, address, self.deadlines, head_limits, body_limits)
        self.other_pool = Pool(loop, address, self.deadlines, head_limits, body_limits)
        self.pages = PolicyLane(
            loop,
            self.clock,
            policy,
            workers=settings.workers,
            serve=self.page_pool.serve,
            observe=self._observe,
            abandonment=settings.abandonment,
        )
        self.other = OtherLane(
            self.clock,
            limit=settings.other_limit,
            capacity=settings.other_queue,
            serve=self.other_pool.serve,
            observe=self._observe,
            abandonment=settings.abandonment,
        )
        self.sessions = Sessions(
            _cookie_key(settings),
            self.clock,
            shop_cookie=settings.session_cookie,
            timeout_s=settings.session_timeout_s,
            is_guarded=self._choice.has_admission,
        )
        self.door = Door(
            loop,
            deadlines=self.deadlines,
            hangups=self.hangups,
            head_limits=head_limits,
            body_limits=body_limits,
            customer_limits=CustomerLimits(
                head_s=settings.head_s,
                body_s=settings.body_s,
                idle_s=settings.idle_s,
                write_s=settings.write_s,
                linger_s=settings.linger_s,
                buffered_body_bytes=settings.buffered_body_bytes,
                pipeline_bytes=settings.pipeline_bytes,
                response_buffer_bytes=settings.response_buffer_bytes,
                half_close=settings.half_close,
            ),
            max_connections=settings.max_connections,
            rules=rules,
            sessions=self.sessions,
            own_host=_authority(settings.host, settings.port),
            pages=self.pages,
            other=self.other,
        )
        self.probe = LoadProbe(
            self.clock,
            host=settings.shop_host,
            port=settings.shop_controller_port,
            interval_s=settings.utilisation_interval_s,
            hand_over=self.pages.load_sample,
        )
        self._api = AdminApi(self, _admin_names(settings))
        self._server: asyncio.Server | None = None
        self._admin_server: asyncio.Server | None = None

    async def start(self) -> None:
        """Begins to accept callers and customers; raises SettingsError when a port is taken."""
        self._admin_server = await self._listen(
            lambda: AdminConnection(self.deadlines, self._api.answer), "admin_host", "admin_port"
        )
        self._server = await self._listen(lambda: Customer(self.door), "host", "port")
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
    def admin_port(self) -> int:
        """The port of the admin API, once started."""
        return _port(self._admin_server)

    @property
    def requests(self) -> int:
        """Requests that wait or are in service, of all kinds."""
        return self.pages.requests + self.other.requests

    async def drain(self) -> bool:
        """Accepts nobody any more, answers who is there, ends; False if the time ran out."""
        if self._server is not None:
            self._server.close()
        self.door.drain()
        deadline_s = self._loop.time() + self.settings.drain_s
        while self.door.customers or self.requests:
            if self._loop.time() >= deadline_s:
                break
            await asyncio.sleep(0.02)
        is_clean = not (self.door.customers or self.requests)
        for customer in list(self.door.customers):
            customer.abort()
        await asyncio.sleep(0)  # connections end in the next round of the loop
        self.page_pool.close()
        self.other_pool.close()
        self.deadlines.stop()
        self.hangups.close()
        self.probe.stop()
        if self._admin_server is not None:
            self._admin_server.close()
        return is_clean

    # ---- as the admin API's gateway --------------------------------------------------------------

    @property
    def is_draining(self) -> bool:
        return self.door.is_draining

    def snapshot(self) -> Mapping[str, object]:
        """Everything at once, JSON-ready (docs/architecture.md)."""
        driver = self.pages.dispatcher
        return {
            "time_s": self.clock(),
            **driver.snapshot(),
            "policy": {**self._choice.described(), "snapshot": dict(driver.policy.snapshot())},
            "abandonment": self.abandonment(),
            "time_scale": self.clock.scale,
            "counts": self.counts(),
            "load": self.probe.snapshot(),
            "other": {"in_service": self.other.in_service, "waiting": self.other.waiting},
            "connections": {
                "customers": len(self.door.customers),
                "shop": self.page_pool.open_connections + self.other_pool.open_connections,
            },
            "refusals": {str(status): n for status, n in self.door.refusals.items()},
            "is_draining": self.is_draining,
        }

    def switch_policy(self, choice: PolicyChoice) -> None:
        """Puts a fresh policy in; raises PolicyError and changes nothing."""
        policy = choice.make()
        self._choice = choice
        self.sessions.guard(choice.has_admission)
        self.pages.switch(policy)

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
        if utilisation_interval_s is not None:
            self.probe.interval_s = utilisation_interval_s
        if abandonment is not None:
            self.pages.dispatcher.abandonment = self.other.abandonment = abandonment
        return {
            "time_scale": self.clock.scale,
            "utilisation_interval_s": self.probe.interval_s,
            "abandonment": self.other.abandonment,
        }

    def metrics_text(self) -> bytes:
        return self._metrics.text()

    # ---- as the metrics' source ------------------------------------------------------------------

    def counts(self) -> dict[str, dict[str, int]]:
        """Page type, and `other` → fate → requests, cumulative."""
        return {**self.pages.dispatcher.counts(), "other": self.other.counts()}

    def abandonment(self) -> dict[str, object]:
        """What leaving does, and what became of the requests of customers who left; cumulative."""
        fates = [*self.counts().values()]

        def total(fate: str) -> int:
            return sum(n[fate] for n in fates)

        return {
            "mode": self.other.abandonment,
            "left_waiting": total("abandoned_waiting"),
            "withdrawn": total("withdrawn"),
            "left_in_service": self.door.left_in_service,
            "cancelled": total("cancelled"),
            "finished": total("orphaned"),
            "overdue": self.page_pool.overdue + self.other_pool.overdue,
        }

    def waiting(self) -> dict[str, int]:
        """Page type, and `other` → requests that wait."""
        return {**self._waiting_by_page(), "other": self.other.waiting}

    def _waiting_by_page(self) -> dict[str, int]:
        by_page = Counter(request.page for request in self.pages.dispatcher.policy.waiting())
        return {page: by_page[page] for page in PAGES}

    def refusals(self) -> dict[int, int]:
        return self.door.refusals

    def policy(self) -> tuple[str, Mapping[str, object]]:
        policy = self.pages.dispatcher.policy
        return policy.name, policy.snapshot()

    def gauges(self) -> dict[str, tuple[str, float]]:
        """Single figures by name; those that end in _total only grow."""
        load = self.probe.newest
        shop = self.page_pool.open_connections + self.other_pool.open_connections
        figures: dict[str, tuple[str, float]] = {
            "in_service_requests": ("Requests at a worker", self.pages.dispatcher.in_service),
            "workers": ("Requests that may be in service at a time", self.settings.workers),
            "customer_connections": ("Open connections of customers", len(self.door.customers)),
            "shop_connections": ("Open connections to the shop", shop),
            "turned_away_connections_total": (
                "Connections beyond the limit",
                self.door.turned_away,
            ),
            "left_in_service_total": (
                "Customers who left while their request was served, or about to be",
                self.door.left_in_service,
            ),
            "overdue_cancels_total": (
                "Requests the shop did not end in time, though their customers had left",
                self.page_pool.overdue + self.other_pool.overdue,
            ),
            "load_samples_total": ("Load samples of the shop", self.probe.samples),
            "load_failures_total": ("Load samples the shop did not give", self.probe.failures),
            "time_scale_ratio": ("Paper seconds per real second", self.clock.scale),
            "clock_paper_seconds": ("Paper time of the gateway", self.clock()),
            "draining_bool": ("1 while draining", float(self.is_draining)),
        }
        if load is not None:
            figures["shop_cpu_utilisation_ratio"] = (
                "CPU utilisation of the shop",
                load.cpu_utilisation_ratio,
            )
            figures["shop_busy_workers"] = ("Busy workers of the shop", load.busy_workers)
        return figures

    def _observe(self, exchange: Exchange, fate: str) -> None:
        page = exchange.page or "other"
        policy = self.pages.dispatcher.policy.name
        self._times.add(policy, page, fate, self.clock() - exchange.arrived_s)


def _authority(host: str, port: int) -> str:
    return f"[{host}]:{port}" if ":" in host else f"{host}:{port}"


def _port(server: asyncio.Server | None) -> int:
    assert server is not None
    return int(server.sockets[0].getsockname()[1])


def _cookie_key(settings: Settings) -> bytes:
    """The key that is set, or one that nobody else has and that is forgotten at the end."""
    key = settings.cookie_key
    return key.get_secret_value().encode() if key is not None else secrets.token_bytes(32)


def _admin_names(settings: Settings) -> frozenset[str]:
    """The names by which the admin API may be called."""
    given = [name.strip().lower() for name in settings.admin_names.split(",") if name.strip()]
    return frozenset(("localhost", "127.0.0.1", "::1", settings.admin_host, *given))

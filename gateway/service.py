"""The gateway as a service, which starts and stops the gateway's parts and its admin API."""

import asyncio
from collections.abc import Callable

from common import hosts
from gateway.admin.api import AdminApi
from gateway.admin.figures import GatewayFigures
from gateway.admin.metrics import GatewayMetrics, ResponseTimes
from gateway.admin.server import AdminConnection, AdminConnections
from gateway.http.customer import Customer
from gateway.parts import Parts, admin_callers
from gateway.queues.policy_choice import PolicyChoice, PolicyInForce
from gateway.settings import Settings, SettingsError, variable
from gateway.tls.handshake import Handshake


class Gateway:
    """A gateway; call `start` first, and `drain` once at the end. An unusable setting raises
    PolicyError, RulesError or SettingsError.
    """

    def __init__(self, settings: Settings, loop: asyncio.AbstractEventLoop) -> None:
        self.settings = settings
        self._loop = loop
        choice = PolicyChoice.of(
            settings.policy,
            settings.policy_parameters,
            settings.admission,
            settings.admission_parameters,
        )
        self.in_force = PolicyInForce(choice, settings.own_policy_s)
        policy = self.in_force.make(choice)
        times = ResponseTimes(policy.name)
        self.parts = Parts(
            settings, loop, policy, needs_sessions=choice.needs_sessions, on_end=times.add
        )
        self.figures = GatewayFigures(self.parts, self.in_force)
        self.metrics = GatewayMetrics(self.figures, times)
        self._admin_connections = AdminConnections()
        self.api = AdminApi(
            self.parts, self.in_force, self.figures, self.metrics, admin_callers(settings)
        )
        self._servers: dict[str, asyncio.Server] = {}
        """The listening servers, by the setting with the server's port."""

    async def start(self) -> None:
        """Accept customers and callers of the admin API; raise SettingsError if the gateway cannot
        listen on a port.
        """
        parts = self.parts
        await self._serve(b"http", lambda: Customer(parts.front), "port")
        if (handshakes := parts.handshakes) is not None:
            await self._serve(b"https", lambda: Handshake(handshakes), "tls_port")
        # The admin API starts last, so that its health check succeeds only when the other ports are
        # open.
        await self._listen(
            lambda: AdminConnection(parts.deadlines, self.api.answer, self._admin_connections),
            "admin_host",
            "admin_port",
        )
        parts.gate.start()
        if parts.cpu_manager is not None:
            parts.cpu_manager.start()
        parts.deadlines.start()
        parts.probe.start()

    async def _serve(
        self, scheme: bytes, protocol: Callable[[], asyncio.Protocol], port_field: str
    ) -> None:
        await self._listen(protocol, "host", port_field)
        authority = hosts.authority(self.settings.host, self._port(port_field))
        self.parts.context.own_hosts[scheme] = authority.encode()

    async def _listen(
        self, protocol: Callable[[], asyncio.Protocol], host_field: str, port_field: str
    ) -> None:
        host, port = getattr(self.settings, host_field), getattr(self.settings, port_field)
        try:
            self._servers[port_field] = await self._loop.create_server(
                protocol, host, port, backlog=self.settings.backlog, reuse_port=False
            )
        except OSError as error:
            names = f"{variable(host_field)} and {variable(port_field)}"
            reason = error.strerror or error
            address = hosts.authority(host, port)
            raise SettingsError(f"cannot listen on {address}: {reason}; see {names}") from None

    @property
    def port(self) -> int:
        """The port to which customers connect, after `start`."""
        return self._port("port")

    @property
    def tls_port(self) -> int:
        """The port to which customers connect with TLS, after `start`."""
        return self._port("tls_port")

    @property
    def admin_port(self) -> int:
        """The port of the admin API, after `start`."""
        return self._port("admin_port")

    def _port(self, field: str) -> int:
        return int(self._servers[field].sockets[0].getsockname()[1])

    @property
    def addresses(self) -> list[str]:
        """The URLs to which customers connect, after `start`."""
        own = self.parts.context.own_hosts.items()
        return [f"{scheme.decode()}://{authority.decode()}" for scheme, authority in own]

    async def drain(self) -> bool:
        """Stop accepting connections, answer the requests that have arrived, and end. Return
        whether all requests were answered within `drain_s`.
        """
        parts = self.parts
        for field, server in self._servers.items():
            if field != "admin_port":
                server.close()
        parts.connections.drain()
        # This loop replaces `common.waiting`, which would block the event loop.
        deadline_s = self._loop.time() + self.settings.drain_s
        while parts.connections.customers or parts.requests:
            if self._loop.time() >= deadline_s:
                break
            await asyncio.sleep(0.02)
        is_clean = not (parts.connections.customers or parts.requests)
        for customer in list(parts.connections.customers):
            customer.abort()
        await asyncio.sleep(0)  # connections end in the next iteration of the loop
        for pool in parts.pools:
            pool.close()
        if parts.handshakes is not None:
            parts.handshakes.close()
        if parts.cpu_manager is not None:
            parts.cpu_manager.stop()
        parts.gate.stop()
        parts.deadlines.stop()
        parts.hangups.close()
        parts.probe.stop()
        self.api.reading_room.close()
        if "admin_port" in self._servers:  # otherwise, `start` has failed
            self._servers["admin_port"].close()
        if parts.tracer is not None:
            await asyncio.to_thread(parts.tracer.export.close)
        return is_clean

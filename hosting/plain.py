"""Complete shops next to the appliance's, each with a gateway, a shop and a database schema.

    with PlainShops(lab, "race", shop_cpus=[(2,), (3,)], other_cpus=(0, 1), books=4309) as shops:
        shops.settings[0]  # the first shop's gateway and controller

Each shop runs on separate CPUs, and all gateways share the other CPUs. The shops use the running
appliance's PostgreSQL and Redis. The thread that enters the block must not end before the block,
because all processes end with the thread.
"""

import subprocess
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from itertools import chain
from pathlib import Path

from common import hosts, log_tail, ports
from common.answering import get_refusal
from common.waiting import wait_while
from hosting import affinity, database, starting
from hosting.starting import HostingError, Started
from hosting.template import application_environment, application_settings
from runtime import monitoring
from runtime.settings import Settings

DRAIN_S = 2.0
_PAUSE_S = 0.1


def settings_of(
    lab: Settings, shop_cpus: tuple[int, ...], other_cpus: tuple[int, ...], books: int
) -> Settings:
    """Return the settings of an additional shop, on free ports of the loopback address."""
    port, admin_port, shop_port, controller_port = ports.free(4)
    return application_settings(
        lab,
        gateway_port=port,
        gateway_admin_port=admin_port,
        shop_port=shop_port,
        shop_controller_port=controller_port,
        shop_cpus=shop_cpus,
        other_cpus=other_cpus,
        catalogue_books=books,
    )


def environment(settings: Settings, name: str) -> dict[str, str]:
    """Return the environment of the additional shop `name`, whose gateway has no TLS."""
    return application_environment(settings, name, {"TLS_PORT": "", "DRAIN_S": DRAIN_S})


@dataclass(frozen=True, slots=True)
class _Part:
    name: str
    process: subprocess.Popen[bytes]
    log: Path


class PlainShops(Started):
    """A context manager that runs additional shops, called `name`-1, `name`-2 and so on.

    Entering it raises HostingError if a shop or a gateway cannot be started. `say` receives the
    progress messages.
    """

    def __init__(
        self,
        lab: Settings,
        name: str,
        *,
        shop_cpus: Sequence[tuple[int, ...]],
        other_cpus: tuple[int, ...],
        books: int,
        say: Callable[[str], None] = lambda _: None,
    ) -> None:
        super().__init__()
        self.lab = lab
        self.names = tuple(f"{name}-{number}" for number in range(1, len(shop_cpus) + 1))
        self.settings = tuple(settings_of(lab, on, other_cpus, books) for on in shop_cpus)
        """The settings of each shop, with its ports and CPUs."""
        self.folder = lab.state_dir / name
        self._shop_cpus = tuple(shop_cpus)
        self._other_cpus = other_cpus
        self._say = say
        self._shops: list[_Part] = []
        self._gateways: list[_Part] = []

    def check(self) -> None:
        """Raise HostingError, with the reason, if a process of the shops has ended."""
        for part in (*self._shops, *self._gateways):
            if part.process.poll() is not None:
                raise HostingError(f"{part.name} has ended; {log_tail.of(part.log)}")

    # ---- the start -----------------------------------------------------------------------------

    def _start(self) -> None:
        try:
            affinity.check(sorted({*self._other_cpus, *chain(*self._shop_cpus)}))
        except affinity.AffinityError as error:
            raise HostingError(str(error)) from None
        # One shop process each; raises an error if PostgreSQL has too few connections.
        database.threads_of_a_shop(self.lab, len(self.names), self.lab.shop_workers)
        database.check_redis(self.lab)
        self.folder.mkdir(parents=True, exist_ok=True)
        shops = [
            (name, settings, environment(settings, name))
            for name, settings in zip(self.names, self.settings, strict=True)
        ]
        for name, settings, environ in shops:
            self._say(f"Creating the tables and {settings.catalogue_books:,} books of {name}")
            starting.seed(
                name,
                books=settings.catalogue_books,
                on=self._other_cpus,
                environment=environ,
                log=self.folder / f"{name}-seed.log",
            )
        self._running.callback(self._end)
        for name, settings, environ in shops:
            self._shops.append(
                self._started(f"{name}-shop", ["shop", "serve"], settings.shop_cpus, environ)
            )
            self._gateways.append(
                self._started(f"{name}-gateway", ["gateway"], self._other_cpus, environ)
            )
        for name, settings, _ in shops:
            self._wait_until_it_serves(name, settings)
        targets = [
            one
            for name, settings, _ in shops
            for one in monitoring.application_targets(
                name, settings.gateway_admin_port, [settings.shop_controller_port]
            )
        ]
        self._running.enter_context(monitoring.also_scraped(self.lab, self.folder.name, targets))

    def _started(
        self, name: str, program: list[str], on: tuple[int, ...], environ: Mapping[str, str]
    ) -> _Part:
        log = self.folder / f"{name}.log"
        return _Part(name, starting.start(program, on=on, environment=environ, log=log), log)

    def _wait_until_it_serves(self, name: str, settings: Settings) -> None:
        where = (
            (settings.shop_controller_port, "/health"),
            (settings.gateway_admin_port, "/health"),
            (settings.gateway_port, "/"),
        )

        def refusal() -> str | None:
            refusals = (get_refusal(hosts.LOOPBACK, port, path) for port, path in where)
            why = next(filter(None, refusals), None)
            if why is not None:
                self.check()
            return why

        if (why := wait_while(refusal, starting.START_PATIENCE_S, every_s=_PAUSE_S)) is not None:
            raise HostingError(f"{name} does not serve: {why}")

    # ---- the end -------------------------------------------------------------------------------

    def _end(self) -> None:
        starting.end(
            gateways=[part.process for part in self._gateways],
            shops=[part.process for part in self._shops],
        )

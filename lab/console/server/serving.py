"""The console's server: one uvicorn process with an event loop for streams and threads for pages.
If the process is killed, its port is free, and its supervisor starts a new process."""

import errno
import faulthandler
import logging
import socket
import ssl
from collections.abc import Callable
from typing import Any

import click
from uvicorn import Config, Server

from common import hosts
from lab.console.server.tls_listener import TlsListener
from lab.console.site.settings import LAB

GRACE_S = 1
STUCK_S = 120.0
"""The time, in real seconds, after which a blocked event loop ends the process. The supervisor then
starts another process."""
SIGN_OF_LIFE_EVERY_S = 10
KEPT_ALIVE_S = 30
WAITING_CONNECTIONS = 2048

logger = logging.getLogger("lab.console")


class ConsoleServer(Server):
    """A uvicorn server that accepts TLS through TlsListener, and ends open streams at shutdown.
    Otherwise, uvicorn would cancel each stream after GRACE_S and log a traceback."""

    async def startup(self, sockets: list[socket.socket] | None = None) -> None:
        if self.config.ssl is None or sockets is None:
            await super().startup(sockets)
            return
        await super().startup([])
        # A listener has exactly the methods of asyncio's server that uvicorn calls.
        listeners: list[Any] = [
            TlsListener(each, self.config.ssl, self._protocol) for each in sockets
        ]
        self.servers = listeners

    async def shutdown(self, sockets: list[socket.socket] | None = None) -> None:
        from lab.console.watch.live_run import watch

        watch.end()
        await super().shutdown(sockets)

    def _protocol(self) -> object:
        protocol: Callable[..., object] = self.config.http_protocol_class
        return protocol(
            config=self.config, server_state=self.server_state, app_state=self.lifespan.state
        )


def serve() -> None:
    """Serve until a signal arrives. Raises ClickException if the server cannot start."""
    if LAB.lab_is_hidden:
        logger.warning(
            "DOORBUSTER_HOST=%s: the console stays on %s, because without accounts every visitor "
            "could launch experiments and delete results; fix: set DOORBUSTER_LAB_ACCOUNTS=1, then "
            "create accounts (docs/console.md, People)",
            LAB.host,
            LAB.lab_host,
        )
    config = Config(
        "lab.console.server.asgi:application",
        loop="uvloop",
        http="httptools",
        lifespan="on",
        log_config=None,
        log_level="warning",
        access_log=False,
        proxy_headers=False,  # no proxy is in front, and any client could write these fields
        server_header=False,
        timeout_keep_alive=KEPT_ALIVE_S,
        timeout_graceful_shutdown=GRACE_S,
        timeout_notify=SIGN_OF_LIFE_EVERY_S,
        callback_notify=_sign_of_life,
    )
    listening = _listening()
    config.load()
    config.ssl = _tls() if LAB.lab_accounts else None
    ConsoleServer(config).run([listening])


async def _sign_of_life() -> None:
    faulthandler.dump_traceback_later(STUCK_S, exit=True)


def _listening() -> socket.socket:
    host = hosts.authority(LAB.lab_host, LAB.lab_port)
    try:
        address = hosts.address(LAB.lab_host)
        made = socket.socket(socket.AF_INET6 if ":" in address else socket.AF_INET)
        made.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        made.bind((address, LAB.lab_port))
        made.listen(WAITING_CONNECTIONS)
    except (OSError, UnicodeError) as error:
        why = getattr(error, "strerror", None) or str(error)
        is_taken = getattr(error, "errno", None) == errno.EADDRINUSE
        fix = (
            "end the program that uses the port, or set DOORBUSTER_LAB_PORT to a free port"
            if is_taken
            else "set DOORBUSTER_LAB_PORT, DOORBUSTER_HOST or DOORBUSTER_INNER_HOST to a value of "
            "this machine"
        )
        raise click.ClickException(
            f"the console cannot listen on {host}: {why}; fix: {fix} (environment or .env)"
        ) from None
    made.setblocking(False)
    return made


def _tls() -> ssl.SSLContext:
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.minimum_version = ssl.TLSVersion.TLSv1_2
    context.set_alpn_protocols(["http/1.1"])
    try:
        context.load_cert_chain(LAB.lab_tls_certificate, LAB.lab_tls_key)
    except (OSError, ssl.SSLError) as error:
        raise click.ClickException(
            f"DOORBUSTER_LAB_TLS_CERTIFICATE={LAB.lab_tls_certificate}, "
            f"DOORBUSTER_LAB_TLS_KEY={LAB.lab_tls_key}: {error.strerror or error}; set both to a "
            "certificate and its key (PEM), or set neither and run `make certs`"
        ) from None
    return context

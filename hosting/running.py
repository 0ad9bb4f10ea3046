"""A running application, with its addresses, health, metrics and settings."""

import http.client
import ssl
import subprocess
from collections.abc import Mapping
from functools import cached_property
from pathlib import Path
from typing import Any

from common import hosts, log_tail
from common.answering import PAGE_TIMEOUT_S
from common.http_json import JsonClient, NoAnswerError, RefusedError
from hosting.options import PlatformOptions
from hosting.processes import tree_cpu_s
from hosting.starting import HostingError
from hosting.template import Application

_CALL_TIMEOUT_S = 60.0
"""The time limit of a call in real seconds, which is long because a busy shop answers late."""


class RunningApplication:
    """A running application. `process` is the parent of its gateway and shops. Every call of the
    gateway's admin API and of the shops' controllers sends `token`. A failed call raises
    HostingError.
    """

    def __init__(
        self,
        plan: Application,
        process: subprocess.Popen[bytes],
        authority: Path,
        log: Path,
        token: str,
    ) -> None:
        self.plan = plan
        self.process = process
        self.authority = authority
        """The certificate of the authority that signed the application's certificate."""
        self._log = log
        self._token = token

    @property
    def name(self) -> str:
        return self.plan.name

    @property
    def https_url(self) -> str:
        return f"https://127.0.0.1:{self.plan.tls_port}"

    @property
    def admin_port(self) -> int:
        return self.plan.admin_port

    @property
    def controller_ports(self) -> tuple[int, ...]:
        return self.plan.controller_ports

    def refusal(self) -> str | None:
        """Return why the application does not serve a page over HTTPS yet, or None if it does."""
        connection = http.client.HTTPSConnection(
            "127.0.0.1", self.plan.tls_port, timeout=PAGE_TIMEOUT_S, context=self._context
        )
        try:
            for port in self.controller_ports:
                self.ask(port, "GET", "/health")
            connection.request("GET", "/")
            response = connection.getresponse()
            response.read()
        except (OSError, http.client.HTTPException, HostingError) as error:
            return str(error) or type(error).__name__
        finally:
            connection.close()
        return None if response.status == 200 else f"it answered {response.status}"

    def prepare(self, options: PlatformOptions) -> None:
        """Remove the seeded accounts' orders, and set the page work that `options` requires."""
        self.ask(self.controller_ports[0], "POST", "/reset")
        for number, port in enumerate(self.controller_ports):
            wanted = {
                "profile": options.profile,
                "time_scale": options.time_scale,
                "seed": options.seed + number,
                "ads": False,
            }
            self.ask(port, "PUT", "/settings", wanted)

    def snapshot(self) -> dict[str, Any]:
        return self.ask(self.admin_port, "GET", "/snapshot")

    def orders(self) -> int:
        return int(self.ask(self.controller_ports[0], "GET", "/orders")["orders"])

    def cpu_s(self) -> float:
        """Return the CPU time of the application's process tree, in real seconds; 0 if the process
        `process` has ended.
        """
        return tree_cpu_s(self.process.pid) or 0.0

    def last_words(self) -> str:
        return log_tail.of(self._log)

    @cached_property
    def _context(self) -> ssl.SSLContext:
        return ssl.create_default_context(cafile=str(self.authority))

    def ask(
        self, port: int, method: str, path: str, body: Mapping[str, object] | None = None
    ) -> dict[str, Any]:
        try:
            with JsonClient(
                hosts.LOOPBACK, port, timeout_s=_CALL_TIMEOUT_S, token=self._token
            ) as part:
                return dict(part.call(method, path, body))
        except (NoAnswerError, RefusedError) as error:
            raise HostingError(f"{self.name}: {method} {path} on port {port}: {error}") from None

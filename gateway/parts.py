"""Parts of a gateway, made from its settings.

Owns: which settings go into which part. Must not know: in which order parts start and end, what
any of them does inside.
"""

import os
import secrets
from collections.abc import Callable, Mapping
from typing import Final

from gateway.clock import PaperClock
from gateway.connection_gate import ConnectionGate
from gateway.frontend import Frontend
from gateway.limits import BodyLimits, CustomerLimits, HeadLimits
from gateway.processor_client import ProcessorClient
from gateway.processor_protocol import Register
from gateway.session_cookie import SessionCookie
from gateway.settings import Settings, SettingsError, variable
from gateway.tls_context import CertificateError, server_context
from gateway.tls_handshake import Handshakes

_K_APL_S: Final = 2.0
"""Paper seconds after which the CPU manager is told anew, should the admission policy have no
interval of its own (edragon.txt, section 3.2)."""


def head_limits(settings: Settings) -> HeadLimits:
    return HeadLimits(settings.start_line_bytes, settings.head_bytes, settings.header_fields)


def body_limits(settings: Settings) -> BodyLimits:
    return BodyLimits(settings.body_bytes, settings.chunk_extension_bytes, settings.trailer_bytes)


def customer_limits(settings: Settings) -> CustomerLimits:
    return CustomerLimits(
        head_s=settings.head_s,
        body_s=settings.body_s,
        idle_s=settings.idle_s,
        write_s=settings.write_s,
        linger_s=settings.linger_s,
        buffered_body_bytes=settings.buffered_body_bytes,
        pipeline_bytes=settings.pipeline_bytes,
        response_buffer_bytes=settings.response_buffer_bytes,
        half_close=settings.half_close,
    )


def signed_cookie(settings: Settings) -> SessionCookie:
    """With the key that is set, or one that nobody else has and that is forgotten at the end."""
    key = settings.cookie_key
    secret = key.get_secret_value().encode() if key is not None else secrets.token_bytes(32)
    return SessionCookie(secret, settings.signed_cookie.encode())


def authority(host: str, port: int) -> str:
    """As a URL has it."""
    return f"[{host}]:{port}" if ":" in host else f"{host}:{port}"


def own_hosts(settings: Settings) -> Mapping[bytes, bytes]:
    """Scheme → authority by which customers get here."""
    return {
        b"http": authority(settings.host, settings.port).encode(),
        b"https": authority(settings.host, settings.tls_port or 0).encode(),
    }


def admin_names(settings: Settings) -> frozenset[str]:
    """The names by which the admin API may be called."""
    given = [name.strip().lower() for name in settings.admin_names.split(",") if name.strip()]
    # Where it listens, unless that is every address: nobody is called by 0.0.0.0.
    own = {settings.admin_host, settings.reached_host or "localhost"} - {"0.0.0.0", "::"}
    return frozenset(("localhost", "127.0.0.1", "::1", *own, *given))


def sent_token(settings: Settings) -> bytes | None:
    """The token that the gateway sends to the shop's controller; None if it has none."""
    token = settings.inner_token
    return None if token is None else token.get_secret_value().encode()


def expected_token(settings: Settings) -> bytes | None:
    """The token that callers of the admin API must send; None if they need none."""
    return sent_token(settings) if settings.inner_token_required else None


def handshakes(settings: Settings, front: Frontend, gate: ConnectionGate) -> Handshakes | None:
    """None without a port for TLS. Raises SettingsError for files that cannot be used."""
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


def cpu_manager(
    settings: Settings,
    clock: PaperClock,
    gate: ConnectionGate,
    assigned: Callable[[float], None],
) -> ProcessorClient | None:
    """The CPU manager's client, which asks for what `gate` needs; None without a CPU manager."""
    if settings.cpu_manager is None:
        return None
    process = settings.cpu_manager_process or os.getppid()
    client = ProcessorClient(
        settings.cpu_manager,
        Register(settings.application, settings.priority, process),
        interval_s=lambda: clock.real_s(_K_APL_S),
        requested=lambda: gate.request,
        assigned=assigned,
    )
    gate.requested_anew = client.wake
    return client

"""The gateway's settings, as one list of fields.

The environment variables, the command line options and the table in docs/settings.md follow from
it.
"""

import json
from collections.abc import Mapping
from itertools import combinations
from pathlib import Path
from typing import Annotated, Any, ClassVar, Self

from pydantic import BeforeValidator, Field, model_validator

from common import settings as reader
from common.settings import PREFIX, Form, SettingsError, SettingsModel, like
from common.shared_settings import (
    AdsHost,
    AdsPort,
    CookieKey,
    FreePort,
    GatewayAdminPort,
    GatewayHost,
    GatewayPort,
    GatewayTlsCertificate,
    GatewayTlsKey,
    GatewayTlsPort,
    InnerHost,
    InnerToken,
    InnerTokenRequired,
    Port,
    PublicHost,
    ShopControllerPort,
    ShopHost,
    ShopPort,
    ShopWorkers,
)
from gateway.http import pages
from gateway.http.limits import KIB, MIB, HalfClose
from gateway.http.session_cookie import NAME as SIGNED_COOKIE
from gateway.policies import NO_ADMISSION, NO_CONNECTION_ADMISSION, Abandonment
from gateway.tls.context import TlsVersion
from gateway.tls.processor_protocol import APPLICATION_NAME, MOST_PROCESSORS

__all__ = ["Settings", "SettingsError", "read", "variable"]


def _object(value: object) -> object:
    if not isinstance(value, str):
        return value
    try:
        return json.loads(value)
    except json.JSONDecodeError:
        raise ValueError('must be a JSON object, e.g. {"capacity": 100}') from None


def _several(value: object) -> object:
    return [part.strip() for part in value.split(",")] if isinstance(value, str) else value


Ports = Annotated[
    tuple[Port, ...], BeforeValidator(_several), Form("ports from 1 to 65535, with commas between")
]
Seconds = Annotated[float, Field(gt=0, le=86_400)]
Bytes = Annotated[int, Field(ge=1 * KIB, le=1024 * MIB)]
Count = Annotated[int, Field(ge=1, le=1_000_000)]
CookieName = Annotated[str, Field(pattern=r"^[A-Za-z0-9_-]{1,64}$")]
JsonObject = Annotated[dict[str, Any], BeforeValidator(_object), Form("a JSON object")]


class Settings(SettingsModel):
    """All settings of the gateway; durations are real seconds unless the field says paper."""

    prefix: ClassVar[str] = PREFIX + "GATEWAY_"

    host: PublicHost
    port: Annotated[
        FreePort, like(GatewayPort, 8080, "port customers connect to; 0 for any free one")
    ]
    tls_port: Annotated[
        FreePort | None,
        like(
            GatewayTlsPort,
            None,
            "port for customers who come by TLS; 0 for any free one, none: no TLS",
        ),
    ]
    tls_certificate: Annotated[
        Path | None,
        like(
            GatewayTlsCertificate,
            None,
            "PEM file with the certificate of the TLS port, and those that vouch for it",
        ),
    ]
    tls_key: Annotated[
        Path | None,
        like(GatewayTlsKey, None, "PEM file with its private key, not encrypted"),
    ]
    tls_minimum: TlsVersion = Field(
        "1.2", description="oldest version of TLS that is spoken: `1.2` or `1.3`"
    )
    tls_handshakes: Annotated[int, Field(ge=1, le=1000)] | None = Field(
        None,
        description="TLS handshakes computed at once, each in a thread; one for each usable CPU if "
        "not set",
    )
    tls_waiting: Count = Field(
        512,
        description="most TLS handshakes at a time; a further one takes the place of a "
        "handshake that waits for its customer, or is reset",
    )
    tls_handshake_s: Seconds = Field(
        10.0, description="a TLS handshake must be over within this, from connecting on"
    )
    connection_admission: str = Field(
        NO_CONNECTION_ADMISSION,
        description="admission policy for TLS connections at the start, by its name",
    )
    connection_admission_parameters: JsonObject = Field(
        default_factory=dict, description="its parameters as a JSON object; published defaults"
    )
    admin_host: InnerHost
    reached_host: GatewayHost
    admin_names: str = Field(
        "",
        description="more names, comma-separated, by which the admin API may be called besides "
        "`localhost` and its address",
    )
    inner_token: InnerToken
    inner_token_required: InnerTokenRequired
    admin_port: Annotated[
        FreePort, like(GatewayAdminPort, 8081, "port of the admin API; 0 for any free one")
    ]
    shop_host: ShopHost
    shop_port: ShopPort
    shop_ports: Ports = Field(
        (),
        description="ports of several processes of one shop, comma-separated, instead of "
        "`shop_port`: each request goes to the one with the fewest in service, of as many as there "
        "are processors assigned (all without a CPU manager)",
    )
    shop_controller_port: ShopControllerPort
    workers: Annotated[
        int,
        Field(ge=1, le=1000),
        like(ShopWorkers, 30, "requests for the eight pages in service at the shop at a time"),
    ]
    policy: str = Field(
        "sq", description="policy at the start, by its name in the registry or the path of a file"
    )
    policy_parameters: JsonObject = Field(
        default_factory=dict, description="its parameters as a JSON object; published defaults"
    )
    admission: str = Field(NO_ADMISSION, description="admission policy at the start, by its name")
    admission_parameters: JsonObject = Field(
        default_factory=dict, description="its parameters as a JSON object; published defaults"
    )
    own_policy_s: Annotated[float, Field(gt=0, le=60)] = Field(
        0.25, description="a student's own policy must answer within this, or FIFO decides instead"
    )
    time_scale: Annotated[float, Field(ge=0.001, le=1000)] = Field(
        10.0, description="paper seconds per real second"
    )
    utilisation_interval_s: Annotated[float, Field(gt=0, le=3600)] = Field(
        1.0, description="the shop's load is sampled this often, paper seconds"
    )
    pages_file: Path = Field(
        pages.DEFAULT_FILE, description="rules file: which request is which page type"
    )
    session_cookie: CookieName = Field(
        "sessionid",
        description=(
            "the shop's cookie that identifies a session while there is no admission control"
        ),
    )
    signed_cookie: CookieName = Field(
        SIGNED_COOKIE.decode(),
        description="the gateway's own cookie that identifies it under admission control; gateways "
        "that customers reach by the same host name need different ones",
    )
    session_timeout_s: Annotated[float, Field(gt=0, le=1_000_000)] = Field(
        1800.0,
        description="under admission control a session ends without requests for this long, "
        "paper seconds (T in SBAC, section 7)",
    )
    cookie_key: CookieKey
    abandonment: Abandonment = Field(
        "ignore",
        description="the effect of a customer's leaving: `ignore` serves the orphan request in "
        "full, `drop-queued` takes it out of its queue, `cancel` also stops it in service",
    )
    half_close: HalfClose = Field(
        "probe",
        description="a customer that ends its stream after a request may have left, or only "
        "have finished sending: `probe` tests this by an interim response, `wait` assumes that it "
        "waits, `leave` that it has left",
    )
    other_limit: Count = Field(
        4, description="requests for anything but the eight pages in service at a time"
    )
    other_queue: Annotated[int, Field(ge=0, le=1_000_000)] = Field(
        256, description="most that wait; a further request gets 503"
    )
    ads_host: AdsHost
    ads_port: Annotated[
        Port | None,
        like(
            AdsPort,
            None,
            "port of the ad server: requests under `/ads/` go there; to the shop if not set",
        ),
    ]
    ads_limit: Count = Field(
        8,
        description="requests in service at the ad server at a time; `other_queue` more of them "
        "wait",
    )
    max_connections: Count = Field(8192, description="customers connected at a time")
    backlog: Count = Field(4096, description="connections the kernel keeps until accepted")
    start_line_bytes: Bytes = Field(8190, description="request line; beyond it 414")
    head_bytes: Bytes = Field(32 * KIB, description="whole head; beyond it 431")
    header_fields: Count = Field(100, description="header fields; beyond it 431")
    head_s: Seconds = Field(10.0, description="a head must be whole within this; else 408")
    body_bytes: Bytes = Field(8 * MIB, description="request body; beyond it 413")
    body_s: Seconds = Field(
        30.0, description="every `buffered_body_bytes` of a body must come within this; else 408"
    )
    buffered_body_bytes: Bytes = Field(
        64 * KIB, description="a body up to this is read in full before its request is submitted"
    )
    chunk_extension_bytes: Bytes = Field(1 * KIB, description="extensions of one chunked body")
    trailer_bytes: Bytes = Field(8 * KIB, description="trailer section of one chunked body")
    idle_s: Seconds = Field(60.0, description="a connection without a request is closed after this")
    pipeline_bytes: Bytes = Field(
        64 * KIB, description="pipelined requests held back while one is answered"
    )
    response_buffer_bytes: Bytes = Field(
        1 * MIB, description="response held for a slow customer before its worker has to wait"
    )
    write_s: Seconds = Field(
        30.0,
        description="a customer that takes less than 64 KiB of a waiting response in this time "
        "is cut off",
    )
    linger_s: Seconds = Field(
        2.0,
        description="after a refusal, or an answer to a body that is not complete, what the "
        "customer still sends is read away this long",
    )
    connect_s: Seconds = Field(5.0, description="connecting to the shop; else 504")
    response_s: Seconds = Field(
        60.0,
        description="the shop may be silent this long within a request; else 504, or cut short",
    )
    cancel_s: Seconds = Field(
        10.0,
        description="a request whose customer has left keeps its worker until the shop has ended "
        "it, at most this long (abandonment `cancel`)",
    )
    shop_idle_s: Seconds = Field(
        30.0,
        description="an unused connection to the shop is closed after this; must be shorter than "
        "the shop's own keep-alive limit",
    )
    drain_s: Seconds = Field(
        20.0, description="on SIGTERM, requests waiting and in service may take this long"
    )
    cpu_manager: Path | None = Field(
        None,
        description="socket of the CPU manager (ECM) that assigns processors; "
        "none: there is no manager",
    )
    cpu_manager_process: Annotated[int, Field(ge=2)] | None = Field(
        None,
        description="process whose tree (the gateway with its shops) the CPU manager binds to "
        "processors; the gateway's parent if not set",
    )
    application: Annotated[str, Field(pattern=f"^{APPLICATION_NAME}$")] = Field(
        "shop-1", description="the application's name for the CPU manager"
    )
    priority: Annotated[float, Field(gt=0, le=MOST_PROCESSORS)] = Field(
        1.0, description="the application's weight (Pᵢ) for the CPU manager"
    )

    @model_validator(mode="after")
    def _is_not_its_own_shop(self) -> Self:
        is_here = self.shop_host in ("127.0.0.1", "localhost", "::1", self.host, self.admin_host)
        for name in ("port", "tls_port", "admin_port"):
            for shop_name in ("shop_port", "shop_controller_port"):
                if is_here and getattr(self, name) == getattr(self, shop_name):
                    raise ValueError(f"{name} and {shop_name} are both {getattr(self, name)}")
            if is_here and getattr(self, name) in self.shop_ports:
                raise ValueError(f"{name} {getattr(self, name)} is also one of shop_ports")
        if len(set(self.shop_ports)) < len(self.shop_ports):
            raise ValueError("shop_ports names a port twice")
        for one, other in combinations(("port", "tls_port", "admin_port"), 2):
            if getattr(self, one) == getattr(self, other) != 0:
                raise ValueError(f"{one} and {other} are both {getattr(self, one)}")
        return self

    @model_validator(mode="after")
    def _has_a_cookie_of_its_own(self) -> Self:
        if self.session_cookie == self.signed_cookie:
            raise ValueError(f"session_cookie and signed_cookie are both {self.signed_cookie}")
        return self

    @model_validator(mode="after")
    def _has_the_token_it_expects(self) -> Self:
        if self.inner_token_required and not self.inner_token:
            raise ValueError("inner_token_required needs inner_token; `make up` generates it")
        return self

    @model_validator(mode="after")
    def _has_a_certificate(self) -> Self:
        for name in ("tls_certificate", "tls_key"):
            if self.tls_port is not None and getattr(self, name) is None:
                raise ValueError(f"tls_port needs {name}; `make certs` makes a certificate")
        return self


def variable(field: str) -> str:
    """Return the environment variable of a field."""
    return Settings.variable(field)


def read(environment: Mapping[str, str], options: Mapping[str, object]) -> Settings:
    """Read settings from the environment; command line options override it (None: not given).

    Raises SettingsError, which names the variable or the option.
    """
    known = {variable(field) for field in Settings.model_fields}
    for name in environment:
        if name.startswith(Settings.prefix) and name not in known:
            raise SettingsError(f"{name}: no such setting (see docs/settings.md)")
    return reader.read(Settings, environment, options)

"""The gateway's settings, declared as the fields of one class. The environment variables, the
command-line options and the table in docs/settings.md are derived from these fields.
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
    TelemetryEndpoint,
    TelemetrySampledRatio,
)
from gateway.http import pages
from gateway.http.limits import KIB, MIB, BodyLimits, CustomerLimits, HalfClose, HeadLimits
from gateway.http.session_cookie import NAME as SIGNED_COOKIE
from gateway.policies import NO_ADMISSION, NO_CONNECTION_ADMISSION, Abandonment
from gateway.students.limits import IN_THE_GATEWAY
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
    tuple[Port, ...], BeforeValidator(_several), Form("ports from 1 to 65535, separated by commas")
]
Seconds = Annotated[float, Field(gt=0, le=86_400)]
Bytes = Annotated[int, Field(ge=1 * KIB, le=1024 * MIB)]
Count = Annotated[int, Field(ge=1, le=1_000_000)]
CookieName = Annotated[str, Field(pattern=r"^[A-Za-z0-9_-]{1,64}$")]
JsonObject = Annotated[dict[str, Any], BeforeValidator(_object), Form("a JSON object")]

_HEAD, _BODY, _CUSTOMER = HeadLimits(), BodyLimits(), CustomerLimits()
"""The limits whose values are the defaults of the settings with the same names."""


class Settings(SettingsModel):
    """All settings of the gateway; durations are in real seconds unless the description names
    paper seconds.
    """

    prefix: ClassVar[str] = PREFIX + "GATEWAY_"

    host: PublicHost
    port: Annotated[
        FreePort, like(GatewayPort, 8080, "port to which customers connect; 0: any free port")
    ]
    tls_port: Annotated[
        FreePort | None,
        like(
            GatewayTlsPort,
            None,
            "port to which customers connect with TLS; 0: any free port; none: no TLS",
        ),
    ]
    tls_certificate: Annotated[
        Path | None,
        like(
            GatewayTlsCertificate,
            None,
            "PEM file with the certificate of the TLS port, followed by the certificates of its "
            "issuers",
        ),
    ]
    tls_key: Annotated[
        Path | None,
        like(GatewayTlsKey, None, "PEM file with the unencrypted private key of `tls_certificate`"),
    ]
    tls_minimum: TlsVersion = Field(
        "1.2", description="oldest version of TLS that the gateway accepts: `1.2` or `1.3`"
    )
    tls_handshakes: Annotated[int, Field(ge=1, le=1000)] | None = Field(
        None,
        description="number of threads that compute TLS handshakes; the default is one for "
        "each usable CPU",
    )
    tls_waiting: Count = Field(
        512,
        description="maximum number of TLS handshakes in progress. Once it is reached, a new "
        "handshake replaces a handshake that waits for its customer. If no handshake waits for its "
        "customer, the new handshake is reset",
    )
    tls_handshake_s: Seconds = Field(
        10.0, description="time limit for a TLS handshake, from the start of the connection"
    )
    connection_admission: str = Field(
        NO_CONNECTION_ADMISSION,
        description="name of the admission policy for TLS connections at the start",
    )
    connection_admission_parameters: JsonObject = Field(
        default_factory=dict,
        description="parameters of the admission policy for TLS connections as a JSON object; "
        "an omitted parameter has its default value",
    )
    admin_host: InnerHost
    reached_host: GatewayHost
    admin_names: str = Field(
        "",
        description="further host names of the admin API, separated by commas, in addition to "
        "`localhost` and the address of the API",
    )
    inner_token: InnerToken
    inner_token_required: InnerTokenRequired
    admin_port: Annotated[
        FreePort, like(GatewayAdminPort, 8081, "port of the admin API; 0: any free port")
    ]
    shop_host: ShopHost
    shop_port: ShopPort
    shop_ports: Ports = Field(
        (),
        description="ports of the shop's processes, separated by commas, instead of "
        "`shop_port`. Each request goes to the process with the fewest requests in service. "
        "With a CPU manager, the number of processes that get requests is the number of assigned "
        "processors, rounded up, but at least 1",
    )
    shop_controller_port: ShopControllerPort
    workers: Annotated[
        int,
        Field(ge=1, le=1000),
        like(
            ShopWorkers,
            30,
            "maximum number of requests in service at the shop for the eight pages",
        ),
    ]
    policy: str = Field(
        "sq",
        description="policy at the start: its name in the registry, or the path of a policy's file",
    )
    policy_parameters: JsonObject = Field(
        default_factory=dict,
        description="parameters of the policy at the start as a JSON object; "
        "an omitted parameter has its default value",
    )
    admission: str = Field(NO_ADMISSION, description="name of the admission policy at the start")
    admission_parameters: JsonObject = Field(
        default_factory=dict,
        description="parameters of the admission policy at the start as a JSON object; "
        "an omitted parameter has its default value",
    )
    own_policy_s: Annotated[float, Field(gt=0, le=60)] = Field(
        IN_THE_GATEWAY.decision_s,
        description="time within which a student's policy must answer; FIFO replaces a policy "
        "that answers later",
    )
    time_scale: Annotated[float, Field(ge=0.001, le=1000)] = Field(
        10.0, description="paper seconds per real second"
    )
    utilisation_interval_s: Annotated[float, Field(gt=0, le=3600)] = Field(
        1.0, description="interval between samples of the shop's load, in paper seconds"
    )
    pages_file: Path = Field(
        pages.DEFAULT_FILE,
        description="file with the rules that define the page type of each request",
    )
    session_cookie: CookieName = Field(
        "sessionid",
        description="name of the shop's cookie, which identifies a session while the gateway "
        "uses no signed cookies",
    )
    signed_cookie: CookieName = Field(
        SIGNED_COOKIE.decode(),
        description="name of the gateway's signed cookie, which identifies a session while a "
        "policy uses sessions or a shadow runs. Gateways with the same host name need different "
        "cookie names",
    )
    session_timeout_s: Annotated[float, Field(gt=0, le=1_000_000)] = Field(
        1800.0,
        description="time without requests, in paper seconds, after which a session with a "
        "signed cookie ends (T in SBAC, section 7)",
    )
    cookie_key: CookieKey
    abandonment: Abandonment = Field(
        "ignore",
        description="treatment of a request whose customer leaves. `ignore` serves the orphan "
        "request. `drop-queued` removes a waiting request from its queue. `cancel` also stops a "
        "request in service; this needs the shop's sentry",
    )
    half_close: HalfClose = Field(
        _CUSTOMER.half_close,
        description="treatment of a customer who closes the sending direction of the connection "
        "after a request (half-close). `probe` tests with an interim response whether the customer "
        "still waits. `wait` assumes that the customer waits, and `leave` assumes that the "
        "customer has left",
    )
    other_limit: Count = Field(
        4,
        description="maximum number of requests in service at the shop that are not for the eight "
        "page types",
    )
    other_queue: Annotated[int, Field(ge=0, le=1_000_000)] = Field(
        256,
        description="maximum number of waiting requests in a bypass; a further request gets "
        "status 503",
    )
    ads_host: AdsHost
    ads_port: Annotated[
        Port | None,
        like(
            AdsPort,
            None,
            "port of the ad server, which gets the requests under `/ads/`; none: the shop gets "
            "these requests",
        ),
    ]
    ads_limit: Count = Field(
        8,
        description="maximum number of requests in service at the ad server; up to `other_queue` "
        "more requests wait",
    )
    max_connections: Count = Field(8192, description="maximum number of connections of customers")
    backlog: Count = Field(
        4096,
        description="maximum number of connections that the kernel "
        "keeps until the gateway accepts them",
    )
    start_line_bytes: Bytes = Field(
        _HEAD.start_line_bytes,
        description="maximum length of the request line; a longer line gets status 414",
    )
    head_bytes: Bytes = Field(
        _HEAD.head_bytes,
        description="maximum size of the whole head; a larger head gets status 431",
    )
    header_fields: Count = Field(
        _HEAD.header_fields,
        description="maximum number of header fields; a head with more fields gets status 431",
    )
    head_s: Seconds = Field(
        _CUSTOMER.head_s,
        description="time within which a head must be complete; otherwise the answer is status 408",
    )
    body_bytes: Bytes = Field(
        _BODY.body_bytes,
        description="maximum size of a request body; a larger body gets status 413",
    )
    body_s: Seconds = Field(
        _CUSTOMER.body_s,
        description="time within which the next `buffered_body_bytes` of a body must arrive; "
        "otherwise the answer is status 408",
    )
    buffered_body_bytes: Bytes = Field(
        _CUSTOMER.buffered_body_bytes,
        description="size up to which the gateway reads a body completely before it queues the "
        "request",
    )
    chunk_extension_bytes: Bytes = Field(
        _BODY.chunk_extension_bytes, description="maximum size of the extensions in a chunked body"
    )
    trailer_bytes: Bytes = Field(
        _BODY.trailer_bytes, description="maximum size of the trailer section in a chunked body"
    )
    idle_s: Seconds = Field(
        _CUSTOMER.idle_s, description="time after which a connection without a request is closed"
    )
    pipeline_bytes: Bytes = Field(
        _CUSTOMER.pipeline_bytes,
        description="maximum size of the pipelined requests that wait while an earlier request "
        "is answered",
    )
    response_buffer_bytes: Bytes = Field(
        _CUSTOMER.response_buffer_bytes,
        description="size of the buffer of a response to a slow customer; when the buffer is "
        "full, the worker has to wait",
    )
    write_s: Seconds = Field(
        _CUSTOMER.write_s,
        description="time within which a customer must accept 64 KiB of a response; a slower "
        "customer is cut off",
    )
    linger_s: Seconds = Field(
        _CUSTOMER.linger_s,
        description="time for which the gateway still reads and discards the customer's bytes "
        "after a refusal, or after an answer to a request with an incomplete body",
    )
    connect_s: Seconds = Field(
        5.0,
        description="time limit for connecting to the shop; after this time, the answer is status "
        "504",
    )
    response_s: Seconds = Field(
        60.0,
        description="maximum time for which the shop may send nothing during a request. After "
        "this time, the customer gets status 504; an answer that has begun is cut off",
    )
    cancel_s: Seconds = Field(
        10.0,
        description="time that the shop has to end a request whose answer is no longer wanted; "
        "after this time, the gateway frees the worker",
    )
    shop_idle_s: Seconds = Field(
        30.0,
        description="time after which an idle connection to the shop is closed; must be shorter "
        "than the shop's keep-alive limit",
    )
    drain_s: Seconds = Field(
        20.0,
        description="time after SIGTERM or SIGINT within which requests may finish; the gateway "
        "then cuts off unfinished requests",
    )
    cpu_manager: Path | None = Field(
        None,
        description="socket of the CPU manager (ECM), which assigns processors; none: no manager",
    )
    cpu_manager_process: Annotated[int, Field(ge=2)] | None = Field(
        None,
        description="id of the process that the CPU manager binds to processors, with all its "
        "descendants; the default is the gateway's parent",
    )
    application: Annotated[str, Field(pattern=f"^{APPLICATION_NAME}$")] = Field(
        "shop-1", description="name under which the gateway registers with the CPU manager"
    )
    priority: Annotated[float, Field(gt=0, le=MOST_PROCESSORS)] = Field(
        1.0, description="weight (Pᵢ) with which the gateway registers with the CPU manager"
    )

    telemetry_endpoint: TelemetryEndpoint
    telemetry_sampled_ratio: TelemetrySampledRatio

    @model_validator(mode="after")
    def _is_not_its_own_shop(self) -> Self:
        here = ("127.0.0.1", "localhost", "::1", self.host, self.admin_host)
        for name in ("port", "tls_port", "admin_port"):
            for host, theirs in (
                (self.shop_host, "shop_port"),
                (self.shop_host, "shop_controller_port"),
                (self.ads_host, "ads_port"),
            ):
                port = getattr(self, name)
                if host in here and port is not None and port == getattr(self, theirs):
                    raise ValueError(f"{name} and {theirs} are both {port}; they must differ")
            if self.shop_host in here and getattr(self, name) in self.shop_ports:
                raise ValueError(
                    f"{name} is {getattr(self, name)}, which is also in shop_ports; the ports of "
                    "the gateway and the shop must differ"
                )
        twice = [port for port in self.shop_ports if self.shop_ports.count(port) > 1]
        if twice:
            raise ValueError(f"shop_ports contains {twice[0]} twice; all its ports must differ")
        for one, other in combinations(("port", "tls_port", "admin_port"), 2):
            if getattr(self, one) == getattr(self, other) != 0:
                raise ValueError(
                    f"{one} and {other} are both {getattr(self, one)}; they must differ"
                )
        return self

    @model_validator(mode="after")
    def _has_a_cookie_of_its_own(self) -> Self:
        if self.session_cookie == self.signed_cookie:
            raise ValueError(
                f"session_cookie and signed_cookie are both {self.signed_cookie}; they must differ"
            )
        return self

    @model_validator(mode="after")
    def _has_the_token_it_expects(self) -> Self:
        if self.inner_token_required and not self.inner_token:
            raise ValueError("inner_token_required needs inner_token, which `make up` generates")
        return self

    @model_validator(mode="after")
    def _has_a_certificate(self) -> Self:
        for name in ("tls_certificate", "tls_key"):
            if self.tls_port is not None and getattr(self, name) is None:
                raise ValueError(f"tls_port needs {name}; `make certs` creates a certificate")
        return self


def variable(field: str) -> str:
    """Return the environment variable of a field."""
    return Settings.variable(field)


def read(environment: Mapping[str, str], options: Mapping[str, object]) -> Settings:
    """Read the settings from the environment and from the options. An option that is not None
    overrides the environment.

    Raises SettingsError if a variable is unknown, or if settings are invalid or contradict each
    other.
    """
    known = {variable(field) for field in Settings.model_fields}
    for name in environment:
        if name.startswith(Settings.prefix) and name not in known:
            raise SettingsError(f"{name}: no such setting (see docs/settings.md)")
    return reader.read(Settings, environment, options)

"""The settings that several parts read, each declared once with its environment variable. The
defaults suit a process that is started alone; for the appliance, `runtime.settings` computes some
of them.
"""

from pathlib import Path
from typing import Annotated, Final
from urllib.parse import urlsplit

from pydantic import AfterValidator, BeforeValidator, Field, ValidationInfo

from common import cpus, hosts
from common.settings import Form, setting

REPOSITORY = Path(__file__).resolve().parent.parent

# ---- types ---------------------------------------------------------------------------------------

LEAST_SECRET_CHARACTERS = 16
"""The minimum length, in characters, of a secret that a person chooses, because some parts can
answer thousands of guesses per second.
"""
LEAST_KEY_CHARACTERS = 32
"""The minimum length, in characters, of the key that signs the gateway's cookies."""
BOOKS, LEAST_BOOKS, MOST_BOOKS = 4309, 1_000, 500_000
"""The default number of books, which is from the Connection Sentry paper (section 4), and its
limits. With fewer books, some searches find no book; with more books, seeding takes minutes.
"""
LEAST_BANNERS, MOST_BANNERS = 0, 2_000_000


def _path(text: object, info: ValidationInfo) -> object:
    if not isinstance(text, str):
        return text
    repository = (info.context or {}).get("repository", REPOSITORY)
    try:
        return (repository / Path(text).expanduser()).resolve()
    except (OSError, RuntimeError) as error:  # `~nobody`, or a loop of links
        raise ValueError(f"not a path ({error}); allowed: a folder or program") from error


def _switch(text: object) -> object:
    if isinstance(text, bool):
        return text
    if text not in ("0", "1"):
        raise ValueError("neither on nor off; allowed: 1 or 0")
    return text == "1"


def _names(text: object) -> object:
    if not isinstance(text, str):
        return text
    return tuple(hosts.reached(each.strip()) for each in text.split(","))


def _cpus(text: object, info: ValidationInfo) -> object:
    usable = (info.context or {}).get("usable_cpus", {}).get(info.field_name)
    return cpus.parse(text, usable) if isinstance(text, str) else text


def strong(least: int, text: str) -> str:
    """Return the secret if it is empty or has at least `least` printable ASCII characters;
    otherwise raise ValueError.
    """
    if text and (len(text) < least or not text.isascii() or not text.isprintable()):
        raise ValueError(
            f"too weak; it must have at least {least} printable ASCII characters; fix: remove "
            f"it, and `make up` generates one"
        )
    return text


def _collector(text: str) -> str:
    try:
        parts = urlsplit(text)
        is_address = parts.scheme in ("http", "https") and parts.hostname and parts.port != 0
    except ValueError:  # the port is not a number
        is_address = False
    if text and (not is_address or parts.path.strip("/") or parts.query or parts.fragment):
        raise ValueError(f"not the address of a collector; allowed: {_COLLECTOR}")
    return text


_COLLECTOR = "an address without a path, e.g. http://127.0.0.1:4318"

Port = Annotated[int, Field(ge=1, le=65535)]
FreePort = Annotated[int, Field(ge=0, le=65535)]
"""The type of a port of a single process; 0 means any free port."""
Listening = Annotated[str, AfterValidator(hosts.listening), Form("a name or an address")]
"""The type of a host on which a server listens; `0.0.0.0` and `::` mean every address of the
machine.
"""
Reached = Annotated[str, AfterValidator(hosts.reached), Form("a name or an address")]
"""The type of a host that other machines or processes can call."""
Names = Annotated[
    tuple[str, ...], BeforeValidator(_names), Form("names and addresses, separated by commas")
]
Folder = Annotated[Path, BeforeValidator(_path), Form("a path")]
Switch = Annotated[bool, BeforeValidator(_switch), Form("1 or 0")]
CpuList = Annotated[
    tuple[int, ...], BeforeValidator(_cpus), Form("a list of CPUs, e.g. `1`, `2-3` or `0,2-3`")
]
Secret = Annotated[
    str,
    AfterValidator(lambda text: strong(LEAST_SECRET_CHARACTERS, text)),
    Form(f"{LEAST_SECRET_CHARACTERS} printable ASCII characters or more"),
]
Key = Annotated[
    str,
    AfterValidator(lambda text: strong(LEAST_KEY_CHARACTERS, text)),
    Form(f"{LEAST_KEY_CHARACTERS} printable ASCII characters or more"),
]
Books = Annotated[int, Field(ge=LEAST_BOOKS, le=MOST_BOOKS)]
Banners = Annotated[int, Field(ge=LEAST_BANNERS, le=MOST_BANNERS)]

# ---- folders -------------------------------------------------------------------------------------

StateDir = Annotated[
    Folder,
    setting(
        "STATE_DIR",
        REPOSITORY / "state",
        "folder for the database, logs, pid files and secrets; it must not contain other files, "
        "because `make reset` empties it",
        shown="`state/` in the repository; as root "
        "`/var/lib/doorbuster/<hash of the repository's path>`",
        example="state",
        page="settings.md#who-reads-the-state-folder",
    ),
]

# ---- where parts listen and are reached ----------------------------------------------------------

_GENERATED = "generated in the state folder at the first start"
_ADDRESSES = "settings.md#addresses"

PublicHost = Annotated[
    Listening,
    setting(
        "HOST",
        hosts.LOOPBACK,
        "address of the gateway's public ports and, if the console has accounts, of the console",
        page=_ADDRESSES,
    ),
]
InnerHost = Annotated[
    Listening,
    setting(
        "INNER_HOST",
        hosts.LOOPBACK,
        "address on which these servers listen: the shop and its controller, the ad server, the "
        "gateway's admin API, the monitoring, and a console without accounts",
        page=_ADDRESSES,
    ),
]
GatewayHost = Annotated[
    Reached | None,
    setting(
        "GATEWAY_HOST",
        None,
        "host at which the lab, its customers and other machines reach the gateway (pages, TLS "
        "and admin API)",
        shown="the address on which the gateway listens",
        example=hosts.LOOPBACK,
    ),
]
GatewayPort = Annotated[
    Port, setting("GATEWAY_PORT", 8080, "port at which customers reach the shop")
]
GatewayTlsPort = Annotated[
    Port, setting("GATEWAY_TLS_PORT", 8443, "port at which customers reach the shop over TLS")
]
GatewayTlsCertificate = Annotated[
    Folder,
    setting(
        "GATEWAY_TLS_CERTIFICATE",
        None,
        "PEM file with the certificate of the TLS port, followed by its issuers' certificates",
        shown="`certificates/server.pem` in the state folder, made at the first start or by "
        "`make certs`",
        example="state/certificates/server.pem",
    ),
]
GatewayTlsKey = Annotated[
    Folder,
    setting(
        "GATEWAY_TLS_KEY",
        None,
        "PEM file with the unencrypted private key of the TLS port's certificate",
        shown="`certificates/server-key.pem` in the state folder, made at the first start or by "
        "`make certs`",
        example="state/certificates/server-key.pem",
    ),
]
GatewayAdminPort = Annotated[
    Port, setting("GATEWAY_ADMIN_PORT", 8081, "port of the gateway's admin API")
]
ShopHost = Annotated[
    Reached,
    setting(
        "SHOP_HOST",
        hosts.LOOPBACK,
        "host at which other parts reach the shop and its controller",
        shown="`DOORBUSTER_INNER_HOST`",
        page=_ADDRESSES,
    ),
]
ShopPort = Annotated[Port, setting("SHOP_PORT", 8082, "port of the shop behind the gateway")]
ShopControllerPort = Annotated[
    Port, setting("SHOP_CONTROLLER_PORT", 8083, "port of the shop's controller")
]
PostgresHost = Annotated[
    Reached, setting("POSTGRES_HOST", hosts.LOOPBACK, "host at which other parts reach PostgreSQL")
]
PostgresPort = Annotated[Port, setting("POSTGRES_PORT", 8084, "port of PostgreSQL")]
PostgresUser = Annotated[str, setting("POSTGRES_USER", "doorbuster", "name of PostgreSQL's user")]
PostgresPassword = Annotated[
    str,
    setting(
        "POSTGRES_PASSWORD", "", "password of PostgreSQL's user", shown=_GENERATED, secret=True
    ),
]
PostgresDb = Annotated[str, setting("POSTGRES_DB", "doorbuster", "name of PostgreSQL's database")]
RedisHost = Annotated[
    Reached, setting("REDIS_HOST", hosts.LOOPBACK, "host at which other parts reach Redis")
]
RedisPort = Annotated[
    Port, setting("REDIS_PORT", 8085, "port of the Redis that caches the shop's sessions")
]
RedisPassword = Annotated[
    Secret,
    setting(
        "REDIS_PASSWORD",
        "",
        "password of both Redis servers; the servers receive only the password's digest",
        shown=_GENERATED,
        secret=True,
    ),
]
AdsHost = Annotated[
    Reached,
    setting(
        "ADS_HOST",
        hosts.LOOPBACK,
        "host at which other parts reach the ad server",
        shown="`DOORBUSTER_INNER_HOST`",
        page=_ADDRESSES,
    ),
]
AdsPort = Annotated[
    Port,
    setting(
        "ADS_PORT",
        8086,
        "port of the ad server on the inner host; customers reach it through the gateway under "
        "`/ads/`",
    ),
]

# ---- what parts do -------------------------------------------------------------------------------

AdsBanners = Annotated[
    Banners,
    setting(
        "ADS_BANNERS",
        6000,
        "number of contracted banners in the ad server's seeded inventory; a change creates a "
        "new inventory, but keeps people's contracts",
    ),
]
CatalogueBooks = Annotated[
    Books,
    setting("CATALOGUE_BOOKS", BOOKS, "number of books in the shop", page="shop.md#the-catalogue"),
]
ShopWorkers = Annotated[
    int,
    Field(ge=1, le=100),
    setting(
        "SHOP_WORKERS",
        30,
        "number of the shop's threads; the gateway also requests at most this number of pages "
        "from the shop at a time",
    ),
]
ShopCpus = Annotated[
    CpuList,
    setting(
        "SHOP_CPUS",
        cpus.for_shop(),
        "CPUs of the shop",
        shown="the last CPU",
        example="1",
    ),
]

# ---- traces of single requests -------------------------------------------------------------------

_TELEMETRY = "telemetry.md"

TelemetryEndpoint = Annotated[
    str,
    AfterValidator(_collector),
    Form(_COLLECTOR),
    setting(
        "TELEMETRY_ENDPOINT",
        "",
        "address of the OpenTelemetry collector (OTLP over HTTP) that receives the traces of "
        "sampled requests; empty: no traces",
        example="http://127.0.0.1:4318",
        page=_TELEMETRY,
    ),
]
TelemetrySampledRatio = Annotated[
    float,
    Field(ge=0, le=1),
    setting(
        "TELEMETRY_SAMPLED_RATIO", 0.1, "share of requests whose traces are sent", page=_TELEMETRY
    ),
]

# ---- secrets -------------------------------------------------------------------------------------

SecretKey = Annotated[
    str, setting("SECRET_KEY", "", "Django's secret key", shown=_GENERATED, secret=True)
]
CookieKey = Annotated[
    Key,
    setting(
        "GATEWAY_COOKIE_KEY",
        "",
        "secret that signs the gateway's session cookies; without it, the gateway generates a "
        "secret at each start, and a restart ends all sessions with a signed cookie",
        shown=_GENERATED,
        secret=True,
    ),
]
InnerToken = Annotated[
    Secret,
    setting(
        "INNER_TOKEN",
        "",
        "secret for calls to the gateway's admin API and the shop's controller",
        shown=_GENERATED,
        page="settings.md#the-inner-token",
        secret=True,
    ),
]
InnerTokenRequired = Annotated[
    Switch,
    setting(
        "INNER_TOKEN_REQUIRED",
        False,
        "1: the admin API and the shop's controller refuse calls without the token, except "
        "`/health` and `/metrics`; `make doctor` shows whether calls need the token",
        shown="`1` if other people have accounts on this machine, otherwise `0`",
        page="settings.md#the-inner-token",
    ),
]

SHORTEST_FAULT_S: Final = 10.0
"""The shortest duration of a fault that a user causes, in paper seconds."""
LONGEST_FAULT_S: Final = 600.0
"""The longest duration of a fault that a user causes, in paper seconds."""

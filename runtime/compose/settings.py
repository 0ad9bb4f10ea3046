"""The settings of docker-compose.yml and of the containers, in two files in the state folder.

`compose.env` has the variables of docker-compose.yml, which gives each container the secrets it
needs. `containers.env` has the other settings, with the values that processes in containers need.
For example, each part listens on all addresses of its container, and other parts reach it by the
name of its service. Both files have mode 600.
"""

import contextlib
import hashlib
import os
import stat
import subprocess
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from importlib import metadata
from pathlib import Path

from common import cpus, hosts, private_file
from runtime import certificate_files, credentials, monitoring
from runtime.compose import certificate
from runtime.native import postgres, redis_server
from runtime.settings import REPOSITORY, VARIABLES, Settings, SettingsError, redis_address
from runtime.state import State

STATE_INSIDE = Path("/var/lib/doorbuster")
TLS_INSIDE = Path("/etc/doorbuster")
UNPRIVILEGED = 10001
"""The user id in containers that root starts, unless another user owns the results."""
IMAGES_FILE = REPOSITORY / "docker" / "images.env"
COMPOSE_FILE = REPOSITORY / "docker-compose.yml"
JAEGER_IMAGE = "JAEGER_IMAGE"
"""The variable of the image that Compose fetches only for the profile `telemetry`."""
SHARED = (
    REPOSITORY / "dashboards" / "grafana" / "provisioning",
    REPOSITORY / "dashboards" / "grafana" / "dashboards",
)
"""The folders of the repository that containers' users read."""
OWN_POLICIES = REPOSITORY / "own"
"""The folder of the user's policies, which the console and its workers read."""
PROJECT_VARIABLE = "COMPOSE_PROJECT_NAME"

# The names by which other parts reach the services.
_REACHED = {
    "DOORBUSTER_POSTGRES_HOST": "postgres",
    "DOORBUSTER_REDIS_HOST": "redis",
    "DOORBUSTER_SHOP_HOST": "shop",
    "DOORBUSTER_ADS_HOST": "ads",
    "DOORBUSTER_GATEWAY_HOST": "gateway",
}
BROKER = "DOORBUSTER_CELERY_BROKER"
GRID_BROKER = "DOORBUSTER_GRID_BROKER"
SECRETS = frozenset({*credentials.VARIABLES, BROKER, GRID_BROKER})
"""The variables with secrets, which docker-compose.yml passes only to services that need them; a
broker's address may contain a password.
"""
# Variables that docker-compose.yml gives only to the console's containers; one is a secret.
_SIGN_IN = tuple(name for name in VARIABLES if name.startswith("DOORBUSTER_LAB_OIDC_"))
# Variables that are valid only on this machine.
_NOT_INSIDE = SECRETS | {
    *_SIGN_IN,
    "DOORBUSTER_POSTGRES_BIN",
    "DOORBUSTER_REDIS_BIN",
    "DOORBUSTER_BUILD_NETWORK",
    PROJECT_VARIABLE,
}
# PostgreSQL's options for address and log are set by the image.
_OF_NATIVE_POSTGRES = {
    "listen_addresses",
    "unix_socket_directories",
    "lc_messages",
    "log_destination",
    "logging_collector",
    "log_line_prefix",
}
# Variables of a private package index, which pip and uv read while the image is built.
_INDEX_VARIABLES = (
    "PIP_INDEX_URL",
    "PIP_EXTRA_INDEX_URL",
    "PIP_TRUSTED_HOST",
    "UV_DEFAULT_INDEX",
    "UV_INDEX_URL",
    "UV_INDEX",
    "UV_EXTRA_INDEX_URL",
    "UV_INSECURE_HOST",
)


@dataclass(frozen=True, slots=True)
class Project:
    """The Compose project of one appliance, which is a clone with its state folder."""

    settings: Settings
    state: State

    @property
    def name(self) -> str:
        """The name of Compose's project: COMPOSE_PROJECT_NAME, or a name derived from the state
        folder.
        """
        own = hashlib.sha256(str(self.state.folder).encode()).hexdigest()[:6]
        given = os.environ.get(PROJECT_VARIABLE) or self.settings.of_parts.get(PROJECT_VARIABLE)
        return given or f"doorbuster-{own}"

    @property
    def image(self) -> str:
        """The name of the project's image, which differs for each clone."""
        return f"{self.name}:local"

    @property
    def compose_env(self) -> Path:
        return self.state.folder / "compose.env"

    @property
    def containers_env(self) -> Path:
        return self.state.folder / "containers.env"

    @property
    def redis_configuration(self) -> Path:
        """The file with Redis' configuration, including the password."""
        return self.state.redis / "containers.conf"

    @property
    def prometheus(self) -> Path:
        return monitoring.folder_of(self.state.folder)

    @property
    def mark(self) -> Path:
        """The file that exists while containers of the appliance may exist."""
        return self.state.stamp("containers")

    @property
    def user(self) -> tuple[int, int]:
        """The user id and the group id of the containers' processes; the user is never root.

        If this user is not root, these are this user's ids. Otherwise, they are the ids of the
        results' owner, or UNPRIVILEGED if there are no results or root owns them.
        """
        if os.geteuid():
            return os.getuid(), os.getgid()
        try:
            there = self.settings.results_dir.stat()
        except OSError:
            return UNPRIVILEGED, UNPRIVILEGED
        return (there.st_uid, there.st_gid) if there.st_uid else (UNPRIVILEGED, UNPRIVILEGED)

    def command(self, *arguments: str) -> list[str]:
        options = ["--project-name", self.name, "--project-directory", str(REPOSITORY)]
        options += ["--file", str(COMPOSE_FILE), "--env-file", str(IMAGES_FILE)]
        if self.compose_env.exists():
            options += ["--env-file", str(self.compose_env)]
        return ["docker", "compose", *options, *arguments]

    def environment(self) -> dict[str, str]:
        """Return the environment for `docker compose`, without the appliance's variables.

        The appliance's variables would override the files. Required secrets always have a value, so
        that Compose can remove containers even without the files.
        """
        kept = {
            name: text
            for name, text in os.environ.items()
            if not name.startswith(("DOORBUSTER_", "COMPOSE_")) and name not in images()
        }
        if not self.compose_env.exists():
            kept |= dict.fromkeys(credentials.VARIABLES, "not-yet-generated")
        # buildx (since 0.20) needs a permission for files outside the context, and Compose permits
        # neither secrets nor the machine's network.
        kept["BUILDX_BAKE_ENTITLEMENTS_FS"] = "0"
        if self.settings.build_network == "host":
            kept["COMPOSE_BAKE"] = "false"
        return kept

    def write(self, profiles: Iterable[str], images: Mapping[str, str] | None = None) -> None:
        """Write the files of variables, and create the folders that containers share with this
        machine.

        `images` replace the images in docker/images.env. Raises SettingsError for values that
        containers cannot use.
        """
        self._make_folders()
        private_file.write(self.containers_env, _lines(self.inside()))
        index = {name: os.environ[name] for name in _INDEX_VARIABLES if os.environ.get(name)}
        private_file.write(self._package_index, _lines(index))
        private_file.write(self.compose_env, _lines(self.outside(profiles) | dict(images or {})))

    def inside(self) -> dict[str, str]:
        """Return the settings as processes in containers see them, without the secrets."""
        variables = self.settings.variables()
        for name in _NOT_INSIDE:
            variables.pop(name, None)
        return (
            variables
            | _REACHED
            | {
                "DOORBUSTER_STATE_DIR": str(STATE_INSIDE),
                "DOORBUSTER_HOST": "0.0.0.0",
                "DOORBUSTER_INNER_HOST": "0.0.0.0",
                "DOORBUSTER_GATEWAY_TLS_CERTIFICATE": str(TLS_INSIDE / "server.pem"),
                "DOORBUSTER_GATEWAY_TLS_KEY": str(TLS_INSIDE / "server-key.pem"),
                "DOORBUSTER_LAB_TLS_CERTIFICATE": str(TLS_INSIDE / "server.pem"),
                "DOORBUSTER_LAB_TLS_KEY": str(TLS_INSIDE / "server-key.pem"),
            }
        )

    def outside(self, profiles: Iterable[str]) -> dict[str, str]:
        """Return the variables of docker-compose.yml."""
        settings = self.settings
        uid, gid = self.user
        gateway, *lab = [each.mounted for each in certificate.pairs(settings)]
        lab_certificate, lab_key = lab[0] if lab else (Path(os.devnull), Path(os.devnull))
        every = tuple(sorted({*settings.shop_cpus, *settings.other_cpus}))
        return {
            **dict.fromkeys(_SIGN_IN, ""),
            **settings.variables(),
            PROJECT_VARIABLE: self.name,
            "COMPOSE_PROFILES": ",".join(profiles),
            BROKER: self._broker(),
            GRID_BROKER: settings.grid_broker or self._broker(),
            "DOORBUSTER_IMAGE": self.image,
            "DOORBUSTER_VERSION": metadata.version("doorbuster"),
            "DOORBUSTER_REVISION": _revision(),
            "DOORBUSTER_UID": str(uid),
            "DOORBUSTER_GID": str(gid),
            "DOORBUSTER_ALL_CPUS": cpus.written(every),
            "DOORBUSTER_CONTAINERS_ENV": str(self.containers_env),
            "DOORBUSTER_PUBLISHED": _published("DOORBUSTER_HOST", settings.host),
            "DOORBUSTER_INNER_PUBLISHED": _published("DOORBUSTER_INNER_HOST", settings.inner_host),
            "DOORBUSTER_LAB_PUBLISHED": _published("DOORBUSTER_HOST", settings.lab_host),
            "DOORBUSTER_POSTGRES_OPTIONS": postgres_options(),
            "DOORBUSTER_REDIS_OPTIONS": redis_options(redis_server.CONFIGURATION),
            "DOORBUSTER_BROKER_OPTIONS": redis_options(redis_server.BROKER_CONFIGURATION),
            "DOORBUSTER_CERTIFICATES": str(certificate_files.of(self.state.folder).folder),
            "DOORBUSTER_TLS_CERTIFICATE": str(gateway[0]),
            "DOORBUSTER_TLS_KEY": str(gateway[1]),
            "DOORBUSTER_LAB_MOUNTED_CERTIFICATE": str(lab_certificate),
            "DOORBUSTER_LAB_MOUNTED_KEY": str(lab_key),
            "DOORBUSTER_LAB_SCHEME": settings.lab_scheme,
            "DOORBUSTER_LAB_TLS_VERSION": _version(filter(None, [settings.lab_trust])),
            "DOORBUSTER_REDIS_CONFIGURATION": str(self.redis_configuration),
            "DOORBUSTER_TLS_VERSION": _version([settings.gateway_tls_certificate]),
            "DOORBUSTER_PROMETHEUS_DIR": str(self.prometheus),
            "DOORBUSTER_PROMETHEUS_VERSION": _version(sorted(self.prometheus.rglob("*.yml"))),
            "DOORBUSTER_BUILD_NETWORK": self.settings.build_network or "default",
            "DOORBUSTER_PACKAGE_INDEX": str(self._package_index),
            "DOORBUSTER_AUTHORITIES": _authorities(),
        }

    def own(self, path: Path) -> None:
        """If this process is root, make the containers' user the owner of a file or folder."""
        if os.geteuid() == 0:
            os.chown(path, *self.user)

    @property
    def _package_index(self) -> Path:
        return self.state.folder / "package-index.env"

    def _make_folders(self) -> None:
        for folder in (self.settings.results_dir, self.prometheus):
            folder.mkdir(parents=True, exist_ok=True)
            self.own(folder)
        for pair in certificate.pairs(self.settings):
            pair.copy(self.own)
        access = redis_server.access(self.settings.redis_password)
        redis_server.write(self.redis_configuration, access)
        self._own_results()
        for folder in SHARED:
            let_read(folder)
        if os.geteuid() == 0:  # otherwise, the containers' user is this user
            let_read(OWN_POLICIES)

    def _own_results(self) -> None:
        """Make the containers' user the owner of results that root wrote natively, so that
        containers can add results.
        """
        if os.geteuid() != 0:
            return
        # By descriptors, because a process in a container may replace a folder with a link.
        for parent, folders, files, here in os.fwalk(self.settings.results_dir):
            if self.state.folder.parent == Path(parent) and self.state.folder.name in folders:
                folders.remove(self.state.folder.name)
            for name in (*folders, *files):
                with contextlib.suppress(FileNotFoundError):  # a draft that has just been removed
                    if os.stat(name, dir_fd=here, follow_symlinks=False).st_uid == 0:
                        os.chown(name, *self.user, dir_fd=here, follow_symlinks=False)

    def _broker(self) -> str:
        chosen, port = self.settings.celery_broker, self.settings.broker_port
        password = self.settings.redis_password
        if chosen != redis_address(hosts.LOOPBACK, port, password) + "/1":
            return chosen
        return redis_address("broker", port, password) + "/1"


def images() -> dict[str, str]:
    """Return the base images of docker/images.env by their variables."""
    lines = IMAGES_FILE.read_text(encoding="utf-8").splitlines()
    pairs = (line.partition("=") for line in lines if line and not line.startswith("#"))
    return {name: text for name, _, text in pairs}


def without_digest(image: str) -> str:
    """Return the image's name without its digest. Substitutes and images from an archive have such
    names.
    """
    return image.partition("@")[0]


def postgres_options() -> str:
    """Return the lab's settings of PostgreSQL, as the server's options."""
    chosen = postgres.CONFIGURATION.items()
    return " ".join(f"-c {name}={text}" for name, text in chosen if name not in _OF_NATIVE_POSTGRES)


def redis_options(configuration: Mapping[str, str]) -> str:
    """Return the lab's settings of Redis, as the server's options."""
    return " ".join(f"--{name} {text or chr(34) * 2}" for name, text in configuration.items())


def _published(variable: str, host: str) -> str:
    """Return the address of the host, because Compose needs an address for published ports."""
    try:
        address = hosts.address(host)
    except (OSError, UnicodeError) as error:
        raise SettingsError(
            f"{variable}={host}: this machine finds no address for this name "
            f"({getattr(error, 'strerror', None) or error}); fix: give an address of this machine"
        ) from None
    return f"[{address}]" if ":" in address else address


def _revision() -> str:
    """Return the clone's commit, or an empty text if git does not report it."""
    try:
        told = subprocess.run(
            ["git", "-C", str(REPOSITORY), "rev-parse", "HEAD"],
            capture_output=True,
            text=True,
            check=False,
        )
    except OSError:
        return ""
    return told.stdout.strip()


def _authorities() -> str:
    """Return the file of trusted authorities that the environment names, otherwise /dev/null."""
    for name in ("SSL_CERT_FILE", "PIP_CERT"):
        if (text := os.environ.get(name)) and Path(text).is_file():
            return text
    return os.devnull


def _version(paths: Iterable[Path]) -> str:
    digest = hashlib.sha256()
    for path in paths:
        digest.update(path.read_bytes() if path.is_file() else b"")
    return digest.hexdigest()[:16]


def _lines(variables: Mapping[str, str]) -> bytes:
    if faults := [
        f"{name}: cannot be passed to containers; allowed: one line without the characters ' and \\"
        for name, text in variables.items()
        if any(sign in text for sign in "'\\\n")
    ]:
        raise SettingsError("\n".join(faults))
    return "".join(f"{name}='{text}'\n" for name, text in sorted(variables.items())).encode()


def let_read(folder: Path) -> None:
    """Let containers read the folder, whatever umask created it.

    Raises SettingsError if this is not possible.
    """
    for path in (folder, *folder.rglob("*")):
        mode = stat.S_IMODE(path.stat().st_mode)
        wanted = mode | (0o055 if path.is_dir() else 0o044)
        if mode != wanted:
            try:
                path.chmod(wanted)
            except OSError as error:
                raise SettingsError(
                    f"{path} cannot be read by containers ({error.strerror}); "
                    f"fix: sudo chmod -R go+rX {folder}"
                ) from None

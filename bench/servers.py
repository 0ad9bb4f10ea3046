"""The databases and the backend that the benchmarks start, on free ports of this machine."""

import signal
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from bench.harness import running
from common import ports
from runtime import accounts
from runtime.native import postgres, redis_server

BODY_BYTES = 1024
"""The size of each page of the backend."""


@contextmanager
def temporary_folder() -> Iterator[Path]:
    """Create a folder for the block. A database under another account can enter this folder."""
    with tempfile.TemporaryDirectory(prefix="doorbuster-bench-") as name:
        folder = Path(name)
        folder.chmod(0o755)
        yield folder


@contextmanager
def database(
    folder: Path,
    cpus: tuple[int, ...] | None = None,
    configuration: tuple[tuple[str, str], ...] = (),
) -> Iterator[postgres.Cluster]:
    """Run a separate PostgreSQL on these CPUs, by default on all."""
    cluster = postgres.temporary(folder / "postgres", configuration)
    with running(
        cluster.command(),
        lambda: postgres.refusal(cluster) is None,
        on=cpus,
        user=cluster.account.name if cluster.account else None,
        stop=signal.SIGINT,
    ):
        postgres.make_database(cluster)
        yield cluster


@contextmanager
def redis(folder: Path, port: int, *options: str) -> Iterator[None]:
    run_as = accounts.for_database()
    store = redis_server.Store(
        installation=redis_server.find(None, folder, run_as),
        folder=folder,
        port=port,
        account=run_as,
    )
    redis_server.prepare(store)
    with running(
        [*store.command(), *options],
        lambda: redis_server.refusal(port) is None,
        user=run_as.name if run_as else None,
    ):
        yield


class Backend:
    """An nginx that answers every page at once. Its folder also has the files of other servers."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        [self.port] = ports.free(1)
        (folder / "www").mkdir()
        self.add_page("")
        folder.chmod(0o755)

    def file(self, name: str, text: str) -> str:
        path = self.folder / name
        path.write_text(text)
        return str(path)

    def add_page(self, path: str) -> None:
        """Serve a page of BODY_BYTES at this path, which begins without a slash."""
        page = self.folder / "www" / path / "index.html"
        page.parent.mkdir(parents=True, exist_ok=True)
        page.write_bytes(b"x" * BODY_BYTES)

    def nginx(self, name: str, server: str) -> list[str]:
        """Return the command of an nginx with one process, whose only virtual host is `server`."""
        temporary = "".join(
            f"{kind}_temp_path {self.folder}/{name}-{kind};\n"
            for kind in ("client_body", "proxy", "fastcgi", "uwsgi", "scgi")
        )
        conf = self.file(
            f"{name}.conf",
            f"daemon off; master_process off; pid {self.folder}/{name}.pid;\n"
            "error_log stderr error; events { worker_connections 1024; }\n"
            f"http {{ access_log off; keepalive_requests 100000000; tcp_nodelay on;\n"
            f"{temporary}{server} }}\n",
        )
        return ["nginx", "-p", str(self.folder), "-c", conf]

    def command(self, port: int) -> list[str]:
        """Return the command line of the nginx that serves the pages at `port`."""
        return self.nginx(
            f"backend-{port}", f"server {{ listen 127.0.0.1:{port}; root {self.folder}/www; }}"
        )

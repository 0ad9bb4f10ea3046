"""Download and check Pyodide, the Python for browsers.

`make playground` (`python -m lab.playground.pyodide`) writes the files of one version of Pyodide's
npm package into the virtual environment. Browsers load these files only from the console.
"""

import argparse
import base64
import gzip
import hashlib
import os
import shutil
import signal
import sys
import tarfile
import tempfile
import urllib.request
from pathlib import Path
from typing import Final

VERSION: Final = "314.0.7"
"""The version of Pyodide; version 314 contains Python 3.14."""
_INTEGRITY: Final = (
    "0YvXxEhfEdpLfb/XkM2BFAeMROq0iMUX2bzzH9pOttyMcWkwq+HbE5uyuGD82LN7y2q+SNvi/6V5JEsOlD2R1A=="
)
"""SHA-512 of the package, as the npm registry publishes it."""
FILES: Final = {
    "pyodide.mjs": "text/javascript",
    "pyodide.asm.mjs": "text/javascript",
    "pyodide.asm.wasm": "application/wasm",
    "python_stdlib.zip": "application/zip",
    "pyodide-lock.json": "application/json",
}
"""The files that a browser loads, with their content types."""
_REGISTRY: Final = "https://registry.npmjs.org"
_MOST_BYTES: Final = 64 * 2**20
_WAIT_S: Final = 60


class FetchError(RuntimeError):
    """The error for a failed download of Pyodide; its message gives the reason and the fix."""


def folder() -> Path:
    """Return the folder of the files, which may not exist yet."""
    return Path(sys.prefix) / "share" / "doorbuster" / f"pyodide-{VERSION}"


def is_there() -> bool:
    return all(_file(name).is_file() for name in FILES)


def first_load_bytes() -> int:
    """Return the size of the compressed FILES, which a browser loads at its first visit."""
    return sum(_file(name).stat().st_size for name in FILES)


def compressed(name: str) -> bytes:
    """Return one of the FILES, compressed with gzip."""
    return _file(name).read_bytes()


def _file(name: str) -> Path:
    return folder() / f"{name}.gz"


def fetch() -> Path:
    """Fetch the package, check it and unpack the files; return their folder.

    The environment variable NPM_CONFIG_REGISTRY can name a mirror of the npm registry. Raises
    FetchError, without leaving files, if the download fails or the package has another digest.
    """
    registry = os.environ.get("NPM_CONFIG_REGISTRY", _REGISTRY).rstrip("/")
    address = f"{registry}/pyodide/-/pyodide-{VERSION}.tgz"
    with tempfile.TemporaryFile() as package:
        try:
            with urllib.request.urlopen(address, timeout=_WAIT_S) as answer:
                package.write(answer.read(_MOST_BYTES))
        except (OSError, ValueError) as fault:
            raise FetchError(
                f"{address}: {fault}. Fix: connect this machine to the network, or set "
                "NPM_CONFIG_REGISTRY to a mirror of the npm registry."
            ) from fault
        package.seek(0)
        digest = hashlib.file_digest(package, "sha512").digest()
        if base64.b64encode(digest).decode() != _INTEGRITY:
            raise FetchError(
                f"{address}: the file is not Pyodide {VERSION} as published (its SHA-512 differs). "
                "Fix: choose another registry with NPM_CONFIG_REGISTRY."
            )
        package.seek(0)
        with tarfile.open(fileobj=package, mode="r:gz") as packed:
            _unpack(packed)
    return folder()


def _unpack(package: tarfile.TarFile) -> None:
    folder().parent.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(dir=folder().parent) as aside:
        for name in FILES:
            file = package.extractfile(f"package/{name}")
            assert file is not None
            (Path(aside) / f"{name}.gz").write_bytes(gzip.compress(file.read(), 9, mtime=0))
        shutil.rmtree(folder(), ignore_errors=True)
        shutil.copytree(aside, folder())
        folder().chmod(0o755)  # only the owner may read a temporary folder


def main() -> None:
    """Fetch the files if they are missing, and print their folder."""
    argparse.ArgumentParser(
        prog="python -m lab.playground.pyodide",
        description=f"Fetch Pyodide {VERSION} for the playground if it is missing.",
    ).parse_args()
    # The signal of Ctrl-C ends the process, so that the calling shell also ends.
    signal.signal(signal.SIGINT, signal.SIG_DFL)
    try:
        if not is_there():
            fetch()
    except FetchError as fault:
        print(f"The playground needs Pyodide: {fault}", file=sys.stderr)
        raise SystemExit(1) from fault
    print(f"Pyodide {VERSION}: {folder()}")


if __name__ == "__main__":
    main()

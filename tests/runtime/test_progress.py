"""The box that `make up` shows at its end."""

import io

from rich.console import Console

from runtime.progress import Progress


def test_a_long_path_is_shown_whole():
    path = "/var/lib/doorbuster/b6a1f0c2d3e4/certificates/authority.pem"
    printed = io.StringIO()
    console = Console(file=printed, width=60, highlight=False, soft_wrap=True)
    Progress(console).box("Doorbuster is up", {"Shop": "http://127.0.0.1/", "Authority": path})
    inside = [line.strip("│ \n") for line in printed.getvalue().splitlines() if "│" in line]
    assert path in "".join(line.removeprefix("Authority").strip() for line in inside)

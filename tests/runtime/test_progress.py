"""The box that `make up` shows at its end."""

import io

import pytest
from rich.console import Console

from runtime.progress import Progress

PATH = "/var/lib/doorbuster/b6a1f0c2d3e4/certificates/authority.pem"


@pytest.mark.parametrize("width", range(40, 90))
def test_a_path_is_never_broken(width):
    """A box that would break a path has no frame."""
    printed = io.StringIO()
    console = Console(file=printed, width=width, highlight=False, soft_wrap=True)
    rows = {"Browser setup": "import this authority in your browser:", "Authority": PATH}
    Progress(console).box("Doorbuster is up", rows)
    assert PATH in printed.getvalue()
    assert "Doorbuster is up" in printed.getvalue()
    assert ("│" in printed.getvalue()) == (width >= len(PATH) + len("Browser setup") + 11)

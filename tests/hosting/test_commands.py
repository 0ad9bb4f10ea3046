"""`python -m hosting application` by hand: an error of one line names what is missing."""

import pytest
from click.testing import CliRunner

from hosting.commands import main


@pytest.mark.parametrize(
    ("shop", "words"),
    [
        ("1:2", "DOORBUSTER_SHOP_CPUS, DOORBUSTER_SHOP_WORKERS: not in the environment"),
        ("1", "'1': must be two ports, such as 8082:8083"),
        ("1:2:3", "'1:2:3': must be two ports"),
        ("a:b", "'a:b': must be two ports"),
        ("1:65536", "'1:65536': must be two ports"),
        ("0:1", "'0:1': must be two ports"),
    ],
)
def test_an_application_that_cannot_be_started(tmp_path, monkeypatch, shop, words):
    for name in ("DOORBUSTER_SHOP_CPUS", "DOORBUSTER_SHOP_WORKERS"):
        monkeypatch.delenv(name, raising=False)
    done = CliRunner().invoke(main, ["application", "--shop", shop, "--logs", str(tmp_path / "l")])
    assert isinstance(done.exception, SystemExit)
    assert done.exit_code != 0
    assert words in done.output
    assert not (tmp_path / "l").exists()

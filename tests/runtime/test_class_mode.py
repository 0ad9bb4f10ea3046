"""A class server: `make up` with accounts in classroom mode, and logins by TLS.

One appliance goes through the tests of this module in their order.
"""

import os
import re
import stat
import subprocess
import sys

import pytest
import requests

from runtime import certificate_files
from runtime.settings import REPOSITORY
from tests.runtime.conftest import Appliance

PATIENCE_S = 60.0


@pytest.fixture(scope="module")
def class_server(appliance: Appliance) -> Appliance:
    """Return the appliance of this module, configured as a class server."""
    appliance.variables |= {"DOORBUSTER_LAB_ACCOUNTS": "1", "DOORBUSTER_LAB_CLASSROOM": "1"}
    return appliance


def test_up_succeeds_and_names_what_browsers_need(class_server: Appliance) -> None:
    code, printed = class_server.run("up", COLUMNS="200")
    assert code == 0, printed
    settings = class_server.settings
    assert f"https://127.0.0.1:{settings.lab_port}/" in printed
    assert str(certificate_files.of(settings.state_dir).authority) in printed


def test_a_student_logs_in_by_tls(class_server: Appliance) -> None:
    settings = class_server.settings
    made = subprocess.run(
        [sys.executable, "-m", "doorbuster", "class", "student", "bert"],
        cwd=REPOSITORY,
        env={"PATH": "/usr/bin:/bin", **class_server.variables},
        capture_output=True,
        text=True,
        timeout=PATIENCE_S,
    )
    _, _, password = made.stdout.strip().partition(",")
    assert password, made.stderr
    url = f"https://localhost:{settings.lab_port}"
    with requests.Session() as browser:
        trusted = str(certificate_files.of(settings.state_dir).authority)
        page = browser.get(f"{url}/", timeout=PATIENCE_S, verify=trusted)
        token = re.search(r'name="csrfmiddlewaretoken" value="(\w+)"', page.text)
        assert token, page.text
        answer = browser.post(
            page.url,
            data={"username": "bert", "password": password, "csrfmiddlewaretoken": token[1]},
            headers={"Referer": page.url},
            timeout=PATIENCE_S,
            verify=trusted,
        )
        assert "Log out" in answer.text
        refused = browser.get(f"{url}/results/", timeout=PATIENCE_S, verify=trusted)
        assert refused.status_code == 200


def test_nothing_in_the_state_folder_is_for_others(class_server: Appliance) -> None:
    """Other accounts of the machine reach no file of the appliance, whatever its name.

    Root's PostgreSQL and Redis only pass through to their folders, under their accounts.
    """
    folder = class_server.state.folder
    open_to_others = []
    for parent, folders, files in os.walk(folder):
        mode = stat.S_IMODE(os.stat(parent).st_mode)
        if mode & 0o077 == 0:
            folders.clear()  # nobody else gets past it
            continue
        open_to_others += [
            f"{parent}/{name}"
            for name in files
            if os.lstat(f"{parent}/{name}").st_mode & 0o077 and not name.endswith(".pem")
        ]
        open_to_others += [parent] if mode & 0o066 else []
    # A copy of the embedded PostgreSQL, for a clone that its account cannot enter, has no secrets.
    kept_by_others = tuple(str(folder / name) for name in ("redis", "certificates", "postgresql"))
    assert not [path for path in open_to_others if not path.startswith(kept_by_others)]

"""Launches that no worker carries out, written into a console's database."""

import json
import os
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager

import psutil

from runtime.settings import REPOSITORY
from tests.lab.console.conftest import Console

_WRITE = """
import json, sys, django
django.setup()
from lab.console.models import Launch
fields = json.loads(sys.argv[2])
print(Launch.objects.update_or_create(pk=sys.argv[1], defaults=fields)[0].pk)
"""
_REMOVE = """
import sys, django
django.setup()
from lab.console.models import Launch
Launch.objects.filter(pk=sys.argv[1]).delete()
"""


@contextmanager
def live_launch(lab: Console, pk: str, state: str, **fields: object) -> Iterator[str]:
    """One that this process carries out, if it is `running`, until the block ends."""
    mine = {"process": os.getpid(), "process_began": psutil.Process().create_time()}
    write(lab, pk, engine="live", state=state, **mine, **fields)
    try:
        yield pk
    finally:
        _run(lab, _REMOVE, pk)


def write(lab: Console, pk: str, **fields: object) -> None:
    """Make or change it."""
    _run(lab, _WRITE, pk, json.dumps(fields))


def _run(lab: Console, program: str, *arguments: str) -> None:
    subprocess.run(
        [sys.executable, "-c", program, *arguments],
        cwd=REPOSITORY,
        env=lab.environment | {"DJANGO_SETTINGS_MODULE": "lab.console.site.settings"},
        check=True,
    )

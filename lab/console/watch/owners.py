"""The permission to change the running shop."""

from collections.abc import Mapping
from typing import Any

from django.http import HttpRequest

from lab.console.site.permissions import Permission, owns
from lab.console.site.settings import LAB
from lab.console.watch.live_run import under_way


def _for_whose_run_is_under_way(request: HttpRequest, arguments: Mapping[str, Any]) -> str:
    going = under_way()
    # A launch that waits for the machine has no run, and changes nothing.
    owns_run = going is not None and going.run is not None and owns(request, going.launch)
    if owns_run and not LAB.lab_classroom:
        return ""
    return (
        "Only a teacher and the person who launched the live run in progress can change the shop."
    )


run_owners = Permission(sends=_for_whose_run_is_under_way)
"""The permission of the watch page: all people can watch the shop; teachers and the person who
launched the live run can change it."""

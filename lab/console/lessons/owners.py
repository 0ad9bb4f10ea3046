"""The permission to read handed-in work, for teachers and for the person who handed in the work."""

from collections.abc import Mapping
from typing import Any

from django.http import HttpRequest

from lab.console.models import HandIn
from lab.console.site.permissions import Permission, name_of


def _for_who_handed_in(request: HttpRequest, arguments: Mapping[str, Any]) -> str:
    if HandIn.objects.filter(by=name_of(request), **arguments).exists():
        return ""
    return "Only a teacher and the person who handed in this work can read it."


hand_in_owners = Permission(reads=_for_who_handed_in, sends=_for_who_handed_in)
"""The permission for teachers and for the person who handed in the work."""

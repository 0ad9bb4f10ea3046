"""What every page shows around its own: where one is, what runs.

Owns: the context of the base template. Must not know: any page.
"""

from urllib.parse import urlsplit

from django.http import HttpRequest

from lab.console import navigation
from lab.console.models import Launch, State
from lab.console.people import is_teacher, name_of
from lab.console.settings import LAB
from lab.console.under_way import under_way
from lab.console.watchers import Watchers, links, watchers_of
from runtime import hosts, monitoring

_watchers = Watchers(watchers_of(LAB), hosts.from_here(LAB.inner_host))


def frame(request: HttpRequest) -> dict[str, object]:
    """Navigation and what is carried out live."""
    if LAB.lab_accounts and not request.user.is_authenticated:  # the login itself
        return {"navigation": (), "here": ""}
    return {
        "person": name_of(request),
        "is_teacher": is_teacher(request),
        "navigation": navigation.PAGES,
        "here": navigation.page_of(request.path),
        "live_now": under_way(),
        "waiting_now": Launch.objects.filter(state=State.QUEUED).count(),
        "shop_port": LAB.gateway_port,
        "scrapes_lanes": monitoring.scrapes_loopback(LAB),
        "watchers": links(
            _watchers.there(), urlsplit(f"//{request.get_host()}").hostname or "", LAB.inner_host
        ),
    }

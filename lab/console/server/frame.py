"""The frame of every page: the navigation and the live run."""

from django.http import HttpRequest
from django.utils.functional import SimpleLazyObject

from common import hosts
from lab.console import pages
from lab.console.models import Launch, State
from lab.console.site.monitoring_links import Watchers, host_of, links, shop_address, watchers_of
from lab.console.site.permissions import is_teacher, name_of
from lab.console.site.settings import LAB
from lab.console.watch.live_run import under_way
from runtime import monitoring

_watchers = Watchers(watchers_of(LAB), hosts.from_here(LAB.inner_host))


def frame(request: HttpRequest) -> dict[str, object]:
    """Return the template variables for the navigation and the live run."""
    if LAB.lab_accounts and not request.user.is_authenticated:  # the login page itself
        return {"navigation": (), "here": ""}
    host = host_of(request)
    has_people = LAB.lab_accounts and is_teacher(request)
    return {
        "person": name_of(request),
        "is_teacher": is_teacher(request),
        "navigation": pages.navigation(has_people=has_people),
        "here": pages.page_of(request.path),
        # Only whole pages use these two; the parts that a page polls do not.
        "live_now": SimpleLazyObject(under_way),
        "waiting_now": SimpleLazyObject(Launch.objects.filter(state=State.QUEUED).count),
        "shop_address": shop_address(request),
        "scrapes_live_shops": monitoring.scrapes_loopback(LAB),
        "watchers": links(_watchers.there(), host, LAB.inner_host),
    }

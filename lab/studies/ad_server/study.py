"""The ad server's study."""

from collections.abc import Mapping
from typing import Any

from lab.studies.ad_server import ABOUT
from lab.studies.ad_server.cases import (
    FEW,
    MANY,
    PUBLISHED_REQUESTS,
    PUBLISHED_THREADS,
    SCALES,
    SERVER_THREADS,
    Cases,
    clients_words,
)
from lab.studies.ad_server.claims import claims
from lab.studies.ad_server.figures import Figures
from lab.studies.ad_server.measures import STREAM
from lab.studies.study import PaperStudy


def words(cases: Cases) -> dict[str, Any]:
    """Return the values for `report.md` that are known before any measurement."""
    return {
        "FEW": FEW,
        "MANY": MANY,
        "PUBLISHED_REQUESTS": PUBLISHED_REQUESTS,
        "PUBLISHED_THREADS": PUBLISHED_THREADS,
        "SERVER_THREADS": SERVER_THREADS,
        "STREAM": STREAM,
        **measured_words({}),
    }


def measured_words(requests: Mapping[int, int], busy: str = "") -> dict[str, str]:
    """Return the values for `report.md` that describe the runs.

    `requests` is the number of requests per client, by number of clients, and `busy` is the warning
    about a busy machine.
    """
    return {"requests": requests_words(requests) if requests else "", "busy": busy}


def requests_words(requests: Mapping[int, int]) -> str:
    """Return the numbers of requests per client as text: `20 (10 clients), …`."""
    each = ", ".join(f"{number} ({clients_words(n)})" for n, number in sorted(requests.items()))
    return f"{each}; published {PUBLISHED_REQUESTS}"


STUDY = PaperStudy(
    name="ad-server",
    package=__package__,
    scales=SCALES,
    cases=Cases,
    figures=Figures,
    claims=claims,
    words=words,
    default_engine=ABOUT.engine,
    options=("banners",),
)

"""Connection Sentry's study."""

from typing import Any

from lab.studies.connection_sentry import ABOUT
from lab.studies.connection_sentry.cases import (
    CATALOGUE_BOOKS,
    HEAVIEST,
    PAPER_PROFILE,
    SCALES,
    Cases,
)
from lab.studies.connection_sentry.claims import claims
from lab.studies.connection_sentry.figures import Figures
from lab.studies.study import PaperStudy


def words(cases: Cases) -> dict[str, Any]:
    """Return the values for `report.md`."""
    return {
        "CATALOGUE_BOOKS": CATALOGUE_BOOKS,
        "HEAVIEST": HEAVIEST,
        "PAPER_PROFILE": PAPER_PROFILE,
    }


STUDY = PaperStudy(
    name="connection-sentry",
    package=__package__,
    scales=SCALES,
    cases=Cases,
    figures=Figures,
    claims=claims,
    words=words,
    default_engine=ABOUT.engine,
)

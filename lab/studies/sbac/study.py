"""SBAC's study."""

from typing import Any

from lab.studies.sbac.cases import LIVE_MEANS, SCALES, SEGMENTS_S, Cases, LiveCases, cases_on
from lab.studies.sbac.claims import claims
from lab.studies.sbac.figures import figures_on
from lab.studies.study import PaperStudy


def words(cases: Cases | LiveCases) -> dict[str, Any]:
    """Return the values for `report.md`."""
    return {"LIVE_MEANS": LIVE_MEANS, "SEGMENTS_S": SEGMENTS_S}


STUDY = PaperStudy(
    name="sbac",
    package=__package__,
    scales=SCALES,
    cases=cases_on,
    figures=figures_on,
    claims=claims,
    words=words,
)

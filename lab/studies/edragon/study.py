"""eDragon's study."""

from typing import Any

from lab.studies.edragon.cases import (
    APPLICATIONS,
    EQUAL,
    LIVE,
    PAPER,
    PRINTED_LOADS,
    PROCESSORS,
    SATURATION_SESSIONS_PS,
    SCALES,
    TO_HIGH,
    TWO_TO_ONE,
    Cases,
    cases_on,
)
from lab.studies.edragon.claims import claims
from lab.studies.edragon.figures import Figures
from lab.studies.study import PaperStudy


def words(cases: Cases) -> dict[str, Any]:
    """Return the values for `report.md`; the value `disturbed` is known only after the runs."""
    return {
        "APPLICATIONS": APPLICATIONS,
        "AUTHORS": PAPER["authors"],
        "EQUAL": EQUAL,
        "LIVE": LIVE,
        "PRINTED_LOADS": PRINTED_LOADS,
        "PROCESSORS": PROCESSORS,
        "SATURATION_SESSIONS_PS": SATURATION_SESSIONS_PS,
        "TITLE": PAPER["title"],
        "TO_HIGH": TO_HIGH,
        "TWO_TO_ONE": TWO_TO_ONE,
        "disturbed": "",
    }


STUDY = PaperStudy(
    name="edragon",
    package=__package__,
    scales=SCALES,
    cases=cases_on,
    figures=Figures,
    claims=claims,
    words=words,
)

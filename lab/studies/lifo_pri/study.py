"""LIFO-Pri's study."""

from typing import Any

from lab.analysis.warnings import WHY_IT_DIFFERS
from lab.studies.lifo_pri.cases import (
    EFFECTIVE_RHO,
    FIG3_RHO,
    LONG_INTERVAL_S,
    NOMINAL_RHO,
    SCALES,
    Cases,
)
from lab.studies.lifo_pri.claims import claims
from lab.studies.lifo_pri.figures import Figures
from lab.studies.study import PaperStudy


def words(cases: Cases) -> dict[str, Any]:
    """Return the values for `report.md`."""
    return {
        "EFFECTIVE_RHO": EFFECTIVE_RHO,
        "FIG3_RHO": FIG3_RHO,
        "LONG_INTERVAL_S": LONG_INTERVAL_S,
        "NOMINAL_RHO": NOMINAL_RHO,
        "WHY_IT_DIFFERS": WHY_IT_DIFFERS,
    }


STUDY = PaperStudy(
    name="lifo-pri",
    package=__package__,
    scales=SCALES,
    cases=Cases,
    figures=Figures,
    claims=claims,
    words=words,
)

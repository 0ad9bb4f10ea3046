"""LIFO-Pri's study."""

from lab.analysis.warnings import WHY_IT_DIFFERS
from lab.studies.lifo_pri.cases import SCALES, Cases
from lab.studies.lifo_pri.claims import claims
from lab.studies.lifo_pri.figures import Figures
from lab.studies.study import PaperStudy

STUDY = PaperStudy(
    name="lifo-pri",
    package=__package__,
    scales=SCALES,
    cases=Cases,
    figures=Figures,
    claims=claims,
    words={"WHY_IT_DIFFERS": WHY_IT_DIFFERS},
)

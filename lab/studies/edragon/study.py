"""eDragon's study."""

from lab.studies.edragon.cases import SCALES, cases_on
from lab.studies.edragon.claims import claims
from lab.studies.edragon.figures import Figures
from lab.studies.study import PaperStudy

STUDY = PaperStudy(
    name="edragon",
    package=__package__,
    scales=SCALES,
    cases=cases_on,
    figures=Figures,
    claims=claims,
    words={"disturbed": ""},  # known only after the runs
)

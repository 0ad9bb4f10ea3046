"""SBAC's study."""

from lab.studies.sbac.cases import SCALES, cases_on
from lab.studies.sbac.claims import claims
from lab.studies.sbac.figures import figures_on
from lab.studies.study import PaperStudy

STUDY = PaperStudy(
    name="sbac",
    package=__package__,
    scales=SCALES,
    cases=cases_on,
    figures=figures_on,
    claims=claims,
)

"""Connection Sentry's study."""

from lab.studies.connection_sentry import ABOUT
from lab.studies.connection_sentry.cases import SCALES, Cases
from lab.studies.connection_sentry.claims import claims
from lab.studies.connection_sentry.figures import Figures
from lab.studies.study import PaperStudy

STUDY = PaperStudy(
    name="connection-sentry",
    package=__package__,
    scales=SCALES,
    cases=Cases,
    figures=Figures,
    claims=claims,
    default_engine=ABOUT.engine,
)

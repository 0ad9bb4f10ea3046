"""The ad server's study."""

from lab.studies.ad_server import ABOUT
from lab.studies.ad_server.cases import SCALES, Cases
from lab.studies.ad_server.claims import claims
from lab.studies.ad_server.figures import Figures
from lab.studies.study import PaperStudy

STUDY = PaperStudy(
    name="ad-server",
    package=__package__,
    scales=SCALES,
    cases=Cases,
    figures=Figures,
    claims=claims,
    words={"requests": "", "busy": ""},  # known only after the runs
    default_engine=ABOUT.engine,
    options=("banners",),
)

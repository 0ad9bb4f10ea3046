"""The study of the ad server."""

from lab.analysis.published import PAPERS
from lab.studies import WHO_GETS_CPUS, About

ABOUT = About(
    PAPERS["ad-server"],
    WHO_GETS_CPUS,
    "Priority by threads (quick grid)",
    "Requests with more search threads are answered sooner, as long as enough processors are free.",
    "ad-server",
    engine="live",
    reference_engine="live",
    reference_text="The runs are live, on an ad server that the command starts for this purpose.",
)

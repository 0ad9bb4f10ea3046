"""The study of SBAC."""

from lab.analysis.published import PAPERS
from lab.studies import WHO_MAY_ENTER, About

ABOUT = About(
    PAPERS["sbac"],
    WHO_MAY_ENTER,
    "Reproduce every figure and Table 2 (quick grid)",
    "The report compares published with simulated numbers, and checks the paper's claims.",
    "sbac-aborted",
)

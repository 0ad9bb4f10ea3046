"""The study of LIFO-Pri."""

from lab.analysis.published import PAPERS
from lab.studies import WHO_IS_NEXT, About

ABOUT = About(
    PAPERS["lifo-pri"],
    WHO_IS_NEXT,
    "Reproduce every figure and table (quick grid)",
    "The report compares published with simulated numbers, and checks the paper's claims.",
    "lifo-pri-fig5",
)

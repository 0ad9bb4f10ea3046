"""The study of eDragon."""

from lab.analysis.published import PAPERS
from lab.studies import WHO_GETS_CPUS, About

ABOUT = About(
    PAPERS["edragon"],
    WHO_GETS_CPUS,
    "Processors between two shops (quick grid)",
    "Admission control for connections and a CPU manager keep the throughput of two shops high.",
    "edragon",
)

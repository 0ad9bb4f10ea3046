"""The studies of the papers: figures and tables with published and reproduced values."""

from dataclasses import dataclass
from typing import Final, Literal

SESSION_METRICS = "studies:sessions"
PAGE_METRICS = "studies:pages"
"""Names of measures in `measures.MEASURES`."""

Engine = Literal["simulated", "live"]

WHO_IS_NEXT: Final = "Who should be served first?"
WHO_MAY_ENTER: Final = "Who should be let in?"
WHO_HAS_LEFT: Final = "What happens to the work for customers who have left?"
WHO_GETS_CPUS: Final = "Who should get the processors?"
"""The questions under which experiments are listed."""


@dataclass(frozen=True, slots=True)
class About:
    """A paper's texts for the gallery and for its reference result."""

    paper: str
    """The paper's short name, its authors and year: `SBAC (Cherkasova & Phaal, 2002)`."""
    question: str
    title: str
    sentence: str
    """A sentence that describes what the quick reproduction shows."""
    picture: str
    """The name of the picture in the gallery."""
    engine: Engine = "simulated"
    """The engine that `doorbuster reproduce` uses unless the user chooses another engine."""
    reference_engine: Engine = "simulated"
    """The engine with which the reference result was made."""
    reference_text: str = ""
    """A remark shown with the reference result. If it is empty, the page says that the runs are
    simulated, and names the live command."""

    @property
    def short_name(self) -> str:
        """The paper's name without authors and year."""
        return self.paper.partition(" (")[0]

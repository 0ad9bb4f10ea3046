"""The papers that can be reproduced, one line each, and the facts that lists show of them.

A study is imported when it is first used, so listing the papers imports no study.
"""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from importlib import import_module
from typing import TYPE_CHECKING, Any, Final, Literal

if TYPE_CHECKING:
    from lab.studies.study import PaperStudy

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


class Papers(Mapping[str, "PaperStudy[Any]"]):
    """A mapping from papers' names to studies, which are imported at first use."""

    def __init__(self, packages: Mapping[str, str]) -> None:
        self._packages = packages

    def __getitem__(self, name: str) -> "PaperStudy[Any]":
        study: PaperStudy[Any] = import_module(f"{self._packages[name]}.study").STUDY
        return study

    def about(self) -> dict[str, About]:
        """Return `ABOUT` of the papers' packages. A paper without `ABOUT` is omitted."""
        modules = {name: import_module(package) for name, package in self._packages.items()}
        return {name: module.ABOUT for name, module in modules.items() if hasattr(module, "ABOUT")}

    def __iter__(self) -> Iterator[str]:
        return iter(self._packages)

    def __len__(self) -> int:
        return len(self._packages)


PAPERS = Papers(
    {
        "lifo-pri": "lab.studies.lifo_pri",
        "sbac": "lab.studies.sbac",
        "connection-sentry": "lab.studies.connection_sentry",
        "ad-server": "lab.studies.ad_server",
        "edragon": "lab.studies.edragon",
    }
)

"""The papers that can be reproduced: a line for each.

A paper is imported at its first use, so its name alone costs nothing.
"""

from collections.abc import Iterator, Mapping, Sequence
from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from lab.studies.study import PaperStudy


class Papers(Mapping[str, "PaperStudy[Any]"]):
    """Paper's name → study."""

    def __init__(self, packages: Mapping[str, str]) -> None:
        self._packages = packages

    def __getitem__(self, name: str) -> "PaperStudy[Any]":
        study: PaperStudy[Any] = import_module(f"{self._packages[name]}.study").STUDY
        return study

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


def is_offered(command: Sequence[str]) -> bool:
    """Return whether a `doorbuster` command exists: `reproduce` only for registered papers."""
    return tuple(command[:1]) != ("reproduce",) or command[1] in PAPERS

"""The papers that can be reproduced, one line each.

A study is imported when it is first used, so listing the papers imports no study.
"""

from collections.abc import Iterator, Mapping
from importlib import import_module
from typing import TYPE_CHECKING, Any

from lab.studies import About

if TYPE_CHECKING:
    from lab.studies.study import PaperStudy


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

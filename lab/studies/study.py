"""The base classes of the papers' studies."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING, Any, Generic, Protocol, TypeVar

from lab.report.claims import Claim
from lab.report.study_figures import Figure, Study
from lab.studies import Engine as Engine
from lab.studies.report_text import ReportText, read_report

if TYPE_CHECKING:
    from lab.runner.study import StudyRun


class Scale(Protocol):
    """The size of a reproduction; each paper's scale adds the numbers that its cases need."""

    @property
    def repetitions(self) -> int:
        """Return the default number of repetitions of each case."""
        ...


S = TypeVar("S", bound=Scale)


@dataclass(frozen=True, slots=True)
class PaperCases(Generic[S]):
    """The cases of a paper at a scale and on an engine. Each paper has a subclass, with a method
    for each kind of case."""

    scale: S
    engine: Engine = "simulated"


C = TypeVar("C", bound=PaperCases[Any])
CasesT_co = TypeVar("CasesT_co", bound=PaperCases[Any], covariant=True)


@dataclass(frozen=True, slots=True)
class PaperFigures(Generic[CasesT_co]):
    """The figures and tables of a paper, their cases and their prose."""

    cases: CasesT_co
    text: ReportText

    def all(self) -> list[Figure]:
        """Return the figures and tables of these cases, in the order of the report."""
        raise NotImplementedError


@dataclass(frozen=True, slots=True)
class PaperStudy(Generic[C]):
    """The study of a paper: its runs at each scale, its figures and its claims."""

    name: str
    """The paper's name in commands and result folders."""
    package: str
    """The paper's Python package. Its folder contains `report.md`."""
    scales: Mapping[Engine, Mapping[bool, Scale]]
    """The scales by engine and by `quick`; the study runs only on these engines."""
    cases: Callable[[Any, Engine], C]
    figures: Callable[[C, ReportText], PaperFigures[C]]
    claims: Callable[[C], Sequence[Claim]]
    words: Mapping[str, Any] = field(default_factory=dict)
    """The values that `report.md` can print, in addition to `engine`, `quick`, `cases`, `scale` and
    the constants in the package's `cases.py`.
    """
    default_engine: Engine = "simulated"
    options: Sequence[str] = ()
    """The options of `doorbuster reproduce` that this paper has in addition to the common
    options."""

    @property
    def engines(self) -> tuple[Engine, ...]:
        """Return the engines that can run this study."""
        return tuple(self.scales)

    def repetitions(self, engine: Engine, *, quick: bool) -> int:
        """Return the default number of repetitions of each case."""
        return self.scales[engine][quick].repetitions

    def cases_of(self, engine: Engine, *, quick: bool) -> C:
        """Return the cases of an engine, at full size or for the quick grid."""
        return self.cases(self.scales[engine][quick], engine)

    def build(self, engine: Engine | None = None, *, quick: bool) -> Study:
        """Return the study on an engine, by default `default_engine`."""
        return self.report(self.cases_of(engine or self.default_engine, quick=quick), quick=quick)

    def report(self, cases: C, *, quick: bool = False, **more: Any) -> Study:
        """Return the study of these cases; `more` has further values for `report.md`."""
        text = self.text(cases, quick=quick, **more)
        return Study(
            paper=self.name,
            title=text.title,
            summary=text.summary,
            figures=self.figures(cases, text).all(),
            claims=self.claims(cases),
            readings=text.readings,
        )

    def text(self, cases: C, *, quick: bool = False, **more: Any) -> ReportText:
        """Return the prose of these cases' report."""
        module = vars(import_module(f"{self.package}.cases"))
        constants = {name: value for name, value in module.items() if name.isupper()}
        own = {"engine": cases.engine, "quick": quick, "cases": cases, "scale": cases.scale}
        file = Path(module["__file__"]).with_name("report.md")
        return read_report(file, {**constants, **self.words, **own, **more})

    def live(self, given: Mapping[str, Any]) -> "StudyRun":
        """Return the live study on this machine, with these options of `doorbuster reproduce`.

        Raises ExperimentError if this machine cannot run it.
        """
        study: StudyRun = import_module(f"{self.package}.live").live_study(given)
        return study

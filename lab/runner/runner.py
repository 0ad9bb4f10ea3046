"""Begin or resume an experiment, and carry out its missing runs.

An `Experiment` is a plug-in for a comparison or a study on one engine. `carry_out` calls its
methods in the same order for all experiments.
"""

import contextlib
from abc import ABC, abstractmethod
from collections.abc import Iterator
from typing import Generic, TypeVar

from lab.machine.progress_file import progress_file
from lab.results.result import Result
from lab.runner.estimates import Estimate
from lab.runner.stopwatch import stopwatch
from runtime import settings

R = TypeVar("R", bound=Result)


class Experiment(ABC, Generic[R]):
    """The execution of a comparison or a study on one engine."""

    start_kind: str | None = None
    """The kind of work under which the cost of the command's start is stored."""

    def __init__(self) -> None:
        self.lab = settings.load()

    @contextlib.contextmanager
    def ready(self) -> Iterator[None]:
        """Provide what the runs need, such as the machine's lock, until the block ends."""
        yield

    @abstractmethod
    def unfinished(self) -> R | None:
        """Return the interrupted result to resume, or None if the experiment needs a new result.
        Raises ExperimentError if such a result cannot be resumed.
        """

    @abstractmethod
    def begin(self) -> R:
        """Create a new result with all facts that are known before the first run."""

    @property
    @abstractmethod
    def name(self) -> str:
        """A text that identifies the experiment in `time.json`."""

    @abstractmethod
    def estimate(self, result: R) -> Estimate | None:
        """Return the expected duration of the experiment, or None if the duration is unknown."""

    @abstractmethod
    def make(self, result: R, estimate: Estimate | None) -> None:
        """Carry out the missing runs, store each in the result when it ends, and show progress.

        Raises ExperimentError if a run fails; the earlier runs are kept.
        """


def carry_out(experiment: Experiment[R], *, fresh: bool) -> R:
    """Complete an experiment and return its result. Raises ExperimentError if a run fails, or if
    the result cannot be resumed or written.
    """
    with experiment.ready():
        result = None if fresh else experiment.unfinished()
        is_new = result is None
        if result is None:
            result = experiment.begin()
        with result.alone():
            progress_file.tell(now=True, folder=str(result.path))
            estimate = experiment.estimate(result)
            stopwatch.expect(experiment.name, estimate, experiment.start_kind)
            stopwatch.begin(result.path, is_new=is_new)
            experiment.make(result, estimate)
    return result

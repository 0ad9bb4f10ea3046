"""The work of one person on a lesson: predictions, notes, answers and launches, and the values of
its results next to the expected ranges (bands)."""

from collections.abc import Mapping
from dataclasses import dataclass

from django.utils import timezone

from lab.console.models import Answer, Launch, StepLaunch
from lab.console.results import result_list
from lab.console.site.settings import LAB
from lab.lessons.readings import Place, UnreadableError, place_of, read
from lab.lessons.sheet import Band, Outcome, Sheet, Step, number
from lab.students.scoreboard import FOLDER as SCOREBOARD


def prediction_field(step: int) -> str:
    """Return the name of the field for a step's prediction."""
    return f"prediction-{step}"


def notes_field(step: int) -> str:
    """Return the name of the field for a step's notes. A stored field marks the step as
    done, even if its text is empty."""
    return f"step-{step}"


def result_field(step: int) -> str:
    """Return the name of the field that stores the result chosen for a step."""
    return f"result-{step}"


def question_field(question: int) -> str:
    """Return the name of the field for the answer to a question."""
    return f"question-{question}"


@dataclass(frozen=True, slots=True)
class Work:
    """A person's current work on a lesson."""

    sheet: Sheet
    answers: dict[str, str]
    launches: dict[int, Launch]
    """The newest launch for each step."""

    @property
    def done(self) -> list[int]:
        """Return the numbers of the steps that the person has marked as done."""
        return [one.number for one in self.sheet.steps if notes_field(one.number) in self.answers]

    @property
    def next_step(self) -> int | None:
        """Return the first step that is not done; None if all steps are done."""
        done = self.done
        return next((one.number for one in self.sheet.steps if one.number not in done), None)

    def prediction(self, step: Step) -> str:
        """Return the saved prediction for a step; empty if there is none."""
        return self.answers.get(prediction_field(step.number), "")

    def is_open(self, step: Step) -> bool:
        """Return whether pages may show the step's launch and its expected values. If the step asks
        for a prediction, pages hide both until the prediction is saved."""
        return bool(self.prediction(step)) or not step.asks_prediction

    def result_of(self, step: int) -> str:
        """Return the name of the result that a step uses; empty if the step has no result yet.

        If the person has chosen a result, which only teachers can do, the step uses this result.
        Otherwise, the step uses the result of its newest launch, after this launch has ended.
        """
        launch = self.launches.get(step)
        ended = launch.result if launch is not None and launch.has_ended else ""
        return self.answers.get(result_field(step)) or ended

    @property
    def answered(self) -> int:
        """Return how many questions have an answer."""
        return sum(question_field(one.number) in self.answers for one in self.sheet.questions)

    @property
    def has_begun(self) -> bool:
        """Whether any part of this work is saved."""
        return bool(self.answers or self.launches)


def work_of(person: str, sheet: Sheet) -> Work:
    mine = {"by": person, "lesson": sheet.number}
    return Work(
        sheet,
        dict(Answer.objects.filter(**mine).values_list("field", "text")),
        {
            one.step: one.launch
            for one in StepLaunch.objects.filter(**mine).select_related("launch")
        },
    )


@dataclass(frozen=True, slots=True)
class Progress:
    """A person's progress in a lesson."""

    steps: int
    """The number of completed steps."""
    questions: int
    """The number of answered questions."""


def progress_of_all() -> dict[str, dict[int, Progress]]:
    """Return each person's progress in each lesson for which the person has saved anything."""
    fields: dict[str, dict[int, list[str]]] = {}
    for by, lesson, field in Answer.objects.values_list("by", "lesson", "field"):
        fields.setdefault(by, {}).setdefault(lesson, []).append(field.partition("-")[0])
    return {
        by: {
            lesson: Progress(kinds.count("step"), kinds.count("question"))
            for lesson, kinds in lessons.items()
        }
        for by, lessons in fields.items()
    }


def write(person: str, sheet: Sheet, field: str, text: str) -> None:
    Answer.objects.update_or_create(
        by=person,
        lesson=sheet.number,
        field=field,
        defaults={"text": text, "at": timezone.now()},
    )


def keep(person: str, sheet: Sheet, texts: Mapping[str, str]) -> None:
    """Save the text of each field, and delete the fields whose text is empty."""
    for field, text in texts.items():
        if text:
            write(person, sheet, field, text)
        else:
            Answer.objects.filter(by=person, lesson=sheet.number, field=field).delete()


def began(person: str, sheet: Sheet, step: int, launch: Launch) -> None:
    """Save this launch as the newest launch of a step."""
    StepLaunch.objects.update_or_create(
        by=person, lesson=sheet.number, step=step, defaults={"launch": launch}
    )


@dataclass(frozen=True, slots=True)
class Finding:
    """A band and the person's value for it."""

    band: Band
    field: str
    """The name of the field in which the person types the value; empty if the console reads the
    value from a result."""
    value: float | str | None
    """The person's value; None until the person has one."""

    @property
    def written(self) -> str:
        """Return the value as text; empty if there is no value yet."""
        return f"{self.value:g}" if isinstance(self.value, float) else self.value or ""

    @property
    def outcome(self) -> Outcome | None:
        """Return the range that contains the value, or OUTSIDE; None if there is no value yet."""
        return None if self.value is None else self.band.outcome(self.value)

    @property
    def is_outside(self) -> bool:
        return self.outcome is Outcome.OUTSIDE


def findings_of(work: Work, step: int) -> list[Finding]:
    """Return the expected ranges of a step, with this person's values."""
    bands = [band for band in work.sheet.bands if band.step == step]
    return [_finding(work, step, i, band) for i, band in enumerate(bands)]


def _finding(work: Work, step: int, row: int, band: Band) -> Finding:
    place = place_of(band.where)
    if place.kind == "printed":  # the console cannot start such commands
        field = f"value-{step}-{row}"
        typed = work.answers.get(field)
        return Finding(band, field, None if typed is None else number(typed))
    return Finding(band, "", _read(work, step, place))


def _read(work: Work, step: int, place: Place) -> float | str | None:
    if place.kind == "scoreboard":
        folder = LAB.results_dir / SCOREBOARD
    else:
        entry = result_list.entry_of(work.result_of(step))
        if entry is None:
            return None
        folder = entry.path
    try:
        return read(place, folder, "")
    except (UnreadableError, OSError, ValueError):  # ValueError: a damaged file
        return None

"""The work of one person on a lesson: predictions, notes, answers and launches."""

from collections.abc import Mapping
from dataclasses import dataclass

from django.utils import timezone

from lab.console.models import Answer, Launch, StepLaunch
from lab.lessons.sheet import Sheet


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

    def result_of(self, step: int) -> str:
        """Return the name of the result that a step uses; empty if the step has no result yet. The
        step uses the result that the person has chosen, as only teachers can; otherwise, the result
        of its newest launch, if this launch has ended."""
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


def erase(person: str, sheet: Sheet, field: str) -> None:
    Answer.objects.filter(by=person, lesson=sheet.number, field=field).delete()


def keep(person: str, sheet: Sheet, texts: Mapping[str, str]) -> None:
    """Save the text of each field, and delete the fields whose text is empty."""
    for field, text in texts.items():
        if text:
            write(person, sheet, field, text)
        else:
            erase(person, sheet, field)


def began(person: str, sheet: Sheet, step: int, launch: Launch) -> None:
    """Save this launch as the newest launch of a step."""
    StepLaunch.objects.update_or_create(
        by=person, lesson=sheet.number, step=step, defaults={"launch": launch}
    )

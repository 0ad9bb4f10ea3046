"""A person's work on a lesson as one file for the teacher."""

from collections.abc import Iterator

from django.utils import timezone

from lab.console.lessons import findings
from lab.console.lessons.findings import Finding
from lab.console.lessons.work import (
    Work,
    notes_field,
    prediction_field,
    question_field,
)
from lab.console.models import HandIn
from lab.lessons.sheet import BAND_COLUMNS, Step


def hand_in(person: str, work: Work) -> HandIn:
    """Save the current work for the teacher. It replaces any earlier hand-in."""
    now = timezone.now()
    who = f"{person}, " if person else ""
    head = f"# Lab {work.sheet.number}: {work.sheet.title}\n\n{who}{now:%Y-%m-%d %H:%M} UTC"
    made, _ = HandIn.objects.update_or_create(
        by=person,
        lesson=work.sheet.number,
        defaults={"text": "\n\n".join([head, *_paragraphs(work)]) + "\n", "at": now},
    )
    return made


def file_name(handed_in: HandIn) -> str:
    """Return a name for the file: `lab-1-bert.md`, or `lab-1.md` without accounts."""
    who = f"-{handed_in.by}" if handed_in.by else ""
    return f"lab-{handed_in.lesson}{who}.md"


def _paragraphs(work: Work) -> Iterator[str]:
    for step in work.sheet.steps:
        yield from _of_step(work, step)
    yield "## Questions"
    for question in work.sheet.questions:
        yield f"**{question.number}.** {question.text}"
        yield _quoted(work.answers.get(question_field(question.number), ""))


def _of_step(work: Work, step: Step) -> Iterator[str]:
    notes = work.answers.get(notes_field(step.number))
    yield f"## Step {step.number}. {step.title}"
    if notes is None:
        yield "This step is not marked as done."
    for part in step.parts:
        if part.is_prediction:
            yield f"**Predict.** {part.markdown}"
            yield _quoted(work.answers.get(prediction_field(step.number), ""))
    if result := work.result_of(step.number):
        yield f"Result: `{result}`"
    found = findings.of_step(work, step.number)
    if any(one.value is not None for one in found):
        yield _table(found)
    if notes:
        yield "Notes:"
        yield _quoted(notes)


def _quoted(text: str) -> str:
    return "\n".join(f"> {line}".rstrip() for line in (text or "(no answer)").splitlines())


def _table(found: list[Finding]) -> str:
    figure, _, _, *limits = BAND_COLUMNS
    header = [figure, "Found", "Outcome", *limits]
    rows = [
        [
            one.band.figure,
            one.written or "–",
            one.outcome.value if one.outcome else "–",
            one.band.expected,
            one.band.quiet,
            one.band.busy,
        ]
        for one in found
    ]
    return "\n".join(f"| {' | '.join(row)} |" for row in (header, ["---"] * len(header), *rows))

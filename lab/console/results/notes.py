"""Notes on results, with a limit for each person, and the copies of notes in a bundle."""

import json
from datetime import UTC, datetime
from pathlib import Path

from django.http import HttpRequest

from lab.console.models import MOST_NOTE_CHARACTERS, Note
from lab.console.results.bundles import NOTES_FILE
from lab.console.site import allowances, permissions
from lab.errors import SpecError
from lab.files import documents

FROM_BUNDLE = " (as a bundle says)"
"""The text that follows an author's name in a note from a bundle, because this lab cannot verify
the author."""
_MOST_BYTES = documents.MOST_BYTES // 2


def write(request: HttpRequest, result: str, text: str) -> None:
    """Save a note of this person on a result. Raises AllowanceError if a limit is reached, and
    SpecError if the text has the wrong length."""
    if not 0 < len(text) <= MOST_NOTE_CHARACTERS:
        raise SpecError(
            "note", f"has {len(text):,} characters", allowed=f"1 to {MOST_NOTE_CHARACTERS:,}"
        )
    by = permissions.name_of(request)
    mine = Note.objects.filter(result=result, by=by).count()
    allowances.require(permissions.allowance_of(request), "notes_per_result", mine + 1)
    permissions.spend(request, "notes_per_hour")
    Note.objects.create(result=result, text=text, by=by)


def of(result: str) -> list[Note]:
    """Return the notes on a result, in the order of their times."""
    return list(Note.objects.filter(result=result))


def that_travel(result: str) -> list[Note]:
    """Return the notes that a bundle contains, in the order of their times. If not all notes fit,
    these are the newest."""
    found: list[Note] = []
    left_bytes = _MOST_BYTES
    for note in reversed(of(result)[-documents.MOST_NOTES :]):
        left_bytes -= len(_json([_plain(note)]))
        if left_bytes < 0:
            break
        found.append(note)
    return found[::-1]


def packed(result: str) -> bytes:
    """Return the content of a bundle's NOTES_FILE; empty if the result has no notes."""
    found = that_travel(result)
    return _json([_plain(note) for note in found]) if found else b""


def unpack(folder: Path) -> None:
    """Save the notes of a bundle that is unpacked into this result folder. Raises ExperimentError
    if the bundle's file with the notes does not have the right form."""
    file = folder / NOTES_FILE
    if not file.is_file():
        return
    Note.objects.bulk_create(
        Note(
            result=folder.name,
            text=one["text"],
            by=one["by"].removesuffix(FROM_BUNDLE)[: 150 - len(FROM_BUNDLE)] + FROM_BUNDLE,
            at=datetime.fromisoformat(one["at"]).astimezone(UTC),
        )
        for one in documents.read_json(file)
    )
    file.unlink()


def _plain(note: Note) -> dict[str, str]:
    return {"text": note.text, "by": note.by, "at": note.at.isoformat()}


def _json(plain: object) -> bytes:
    return json.dumps(plain, ensure_ascii=False, indent=1).encode()

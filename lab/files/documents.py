"""Write the text and JSON files of a result completely or not at all, and check JSON when it is
read. A result may come from another machine and may have been edited, so a reader gets plain values
of a known form, or an ExperimentError that names the file and the fault."""

import functools
import json
from collections.abc import Callable, Iterator, Mapping
from datetime import UTC, datetime
from pathlib import Path
from typing import Annotated, Any, Self, TypeVar

from pydantic import (
    AfterValidator,
    BaseModel,
    ConfigDict,
    Field,
    TypeAdapter,
    ValidationError,
    model_validator,
)

from common import private_file
from lab.errors import ExperimentError
from lab.files.conclusion import CONCLUSION_FILE, Conclusion
from lab.files.run_summary import Number, PlannedRun, RunSummary

MOST_BYTES = 8 * 2**20
"""The maximum size of a JSON file in bytes. In Python, the values of a file can need thirty times
as much memory.
"""
MOST_DEPTH = 30
"""The maximum depth of nested lists and objects; repr() and json.dumps() fail at about 1,000."""

T = TypeVar("T")
Cell = str | int | float | bool | None
Text = Annotated[str, Field(max_length=100_000)]


class _Form(BaseModel):
    model_config = ConfigDict(extra="allow", strict=True)


class _Table(_Form):
    title: Text = ""
    header: list[Cell]
    rows: list[list[Cell]]
    note: Text = ""


class _Figure(_Form):
    key: Annotated[str, Field(max_length=200, pattern=r"^[^/\x00]+$")]
    heading: Text = ""
    what: Text = ""
    differs: list[Text] = []
    tables: list[_Table]


class _Reproduction(_Form):
    paper: Text = ""
    title: Text = ""
    engine: Text = ""
    machine: dict[str, Any] | None = None
    versions: dict[str, Any] | None = None


_Number = Number | None


def _is_time(text: str) -> str:
    try:
        datetime.fromisoformat(text).astimezone(UTC)
    except OverflowError:
        raise ValueError("must be a time in the years 1 to 9999") from None
    return text


class _Note(BaseModel):
    model_config = ConfigDict(extra="forbid", strict=True)
    text: Annotated[str, Field(min_length=1, max_length=10_000)]
    by: Annotated[str, Field(max_length=150)]
    at: Annotated[str, Field(max_length=50), AfterValidator(_is_time)]


class ReferenceForm(_Form):
    """The form of reference.json, which `lab.results.reference.Reference` completes."""

    model_config = ConfigDict(frozen=True)

    command: Text
    version: Text
    """The commit of the code that made the result."""
    machine: Text
    written_at: Annotated[str, Field(max_length=50)]
    """The time at which the result was made: ISO 8601, UTC."""
    took_real_s: _Number
    is_quick: bool
    """Whether the result was made with the option --quick, which makes it smaller."""
    text: Text
    """A remark for readers of this reference."""


class _Chosen(_Form):
    name: Text


class _Event(_Form):
    event: Annotated[str, Field(max_length=200)]
    at: Annotated[str, Field(max_length=50)] | None = None
    time_s: _Number = None
    policy: Any = None
    abandonment: Any = None
    factor: Any = None
    name: str | None = None

    @model_validator(mode="after")
    def _has_what_its_words_need(self) -> Self:
        if self.event == "switched":
            _Chosen.model_validate(self.policy)
            if not isinstance(self.abandonment, str):
                raise ValueError("abandonment must be text")
        is_fault = self.event in ("fault", "fault over")
        if is_fault and self.name is None:
            raise ValueError("name is missing")
        if (is_fault or self.event in ("switched", "load changed")) and self.time_s is None:
            raise ValueError("time_s is missing")
        if self.event == "load changed" and not isinstance(self.factor, int | float):
            raise ValueError("factor must be a number")
        return self


MOST_NOTES = 1_000
"""The maximum number of notes in a bundle."""

_FORMS: Mapping[str, Any] = {
    CONCLUSION_FILE: Conclusion,
    "tables.json": list[_Table],
    "exhibits.json": list[_Figure],
    "claims.json": list[dict[str, Cell]],
    "reproduction.json": _Reproduction,
    "machine.json": dict[str, Any],
    "versions.json": dict[str, Any],
    "capacity.json": dict[str, Any],
    "imported.json": dict[str, Any],
    "notes.json": Annotated[list[_Note], Field(max_length=MOST_NOTES)],
    "reference.json": ReferenceForm,
    "plan.json": list[PlannedRun],
    "run.json": RunSummary,
    "events.jsonl": list[_Event],
}
"""The form of each file by its name; files with other names can contain any JSON."""

FILES = tuple(name for name in _FORMS if name not in ("run.json", "events.jsonl"))
"""The names of files that belong to the whole result; run.json and events.jsonl belong to its runs.
"""


def write_text(path: Path, text: str) -> None:
    """Write a file, which all users can read, completely or not at all."""
    private_file.write(path, text.encode("utf-8"), 0o644)


def write_json(path: Path, content: object) -> None:
    """Write JSON completely or not at all."""
    write_text(path, json.dumps(content, indent=2, ensure_ascii=False) + "\n")


def read_json(path: Path) -> Any:
    """Return the content of a file after checking it against the form for the file's name. Raises
    ExperimentError if the file is missing or too large, or is not JSON of the right form."""
    return _read(path, json.loads)


def read(path: Path, form: type[T]) -> T:
    """Return the content of a file as an object of `form`, so that it is checked only once; raises
    as `read_json` does."""
    found: T = _in_form(path, _plain(path, json.loads), form)
    return found


def read_json_lines(path: Path) -> Any:
    """Return the content of a file with a JSON value on each line; raises as `read_json` does."""
    # `splitlines` would also split at characters that a JSON text may contain, such as U+2028.
    return _read(path, lambda text: [json.loads(line) for line in text.split("\n") if line])


def _read(path: Path, parse: Callable[[str], Any]) -> Any:
    plain = _plain(path, parse)
    if path.name in _FORMS:
        _in_form(path, plain, _FORMS[path.name])
    return plain


def _plain(path: Path, parse: Callable[[str], Any]) -> Any:
    text = text_of(path, MOST_BYTES)
    try:
        plain = parse(text)
        _check_values(plain, text)
    except (ValueError, RecursionError) as fault:
        raise ExperimentError(f"{path} cannot be read: {_reason(fault)}") from None
    return plain


def text_of(path: Path, most_bytes: int) -> str:
    """Return the text of a file; raises ExperimentError if it is missing, too large or not
    UTF-8."""
    try:
        if path.stat().st_size > most_bytes:
            raise ExperimentError(
                f"{path} cannot be read: it has {path.stat().st_size:,} bytes; "
                f"allowed: at most {most_bytes:,}"
            )
        return path.read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError) as fault:
        raise ExperimentError(f"{path} cannot be read: {fault}") from None


def _check_values(plain: object, text: str) -> None:
    """Raise ValueError for values that JSON allows but that pages cannot show."""
    if "\\u" in text.lower():  # UTF-8 cannot represent one half of a pair of surrogates
        json.dumps(plain, ensure_ascii=False).encode()
    if text.count("[") + text.count("{") > MOST_DEPTH and any(
        depth > MOST_DEPTH for depth in _depths(plain)
    ):
        raise ValueError(f"it is nested too deeply; allowed: {MOST_DEPTH} levels")


def _depths(plain: object) -> Iterator[int]:
    level, depth = [plain], 0
    while level:
        yield depth
        level = [
            inner
            for one in level
            if isinstance(one, dict | list)
            for inner in (one.values() if isinstance(one, dict) else one)
            if isinstance(inner, dict | list)
        ]
        depth += 1


def _in_form(path: Path, plain: object, form: Any) -> Any:
    try:
        return _adapter(form).validate_python(plain)
    except ValidationError as faults:
        fault = faults.errors(include_url=False, include_input=False)[0]
        place = ".".join(map(str, fault["loc"])) or "its content"
        raise ExperimentError(
            f"{path} does not have the form of {path.name}: {place:.80}: {fault['msg']}"
        ) from None


@functools.cache
def _adapter(form: Any) -> TypeAdapter[Any]:
    return TypeAdapter(form)


def _reason(fault: Exception) -> str:
    return "it is nested too deeply" if isinstance(fault, RecursionError) else str(fault)

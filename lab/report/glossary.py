"""The glossary: the entries of docs/glossary.md, and entries from the data sheets of policies."""

import re
import unicodedata
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache

from gateway.policies.sheet import Parameter, Sheet
from lab.baselines import sheets as baseline_sheets
from lab.titles import title_of
from runtime.settings import REPOSITORY

PAGE = REPOSITORY / "docs" / "glossary.md"

_ENTRY = re.compile(r"^### (.+)\n\n((?:.+\n|\n(?!#))*)", re.MULTILINE)
_ALSO = re.compile(r"^\*Also:\* (.+)$", re.MULTILINE)
_FORMULA = re.compile(r"^    (.+)$", re.MULTILINE)
_GENERATED = re.compile(r"^<!-- .+ -->$", re.MULTILINE)
_LOAD = re.compile(r"^ρ = [\d.]+ ?")


@dataclass(frozen=True, slots=True)
class Entry:
    """One term with its synonyms, its text and its formula, if it has one."""

    title: str
    names: tuple[str, ...]
    text: str
    formula: str = ""
    is_parameter: bool = False

    @property
    def anchor(self) -> str:
        """The id of its section on the page, as Sphinx generates it."""
        plain = unicodedata.normalize("NFKD", self.title).encode("ascii", "ignore").decode()
        dashed = re.sub(r"[^a-z0-9]+", "-", plain.lower())
        return re.sub(r"^[-0-9]+|-+$", "", dashed)


def written() -> Iterator[Entry]:
    """Yield the entries of docs/glossary.md."""
    for title, body in _ENTRY.findall(PAGE.read_text(encoding="utf-8")):
        also = _ALSO.search(body)
        formula = _FORMULA.search(body)
        text = _GENERATED.sub("", _FORMULA.sub("", _ALSO.sub("", body)))
        yield Entry(
            title,
            (title, *(re.findall(r"`([^`]+)`", also[1]) if also else ())),
            " ".join(text.replace("*", "").replace("`", "").split()),
            formula[1] if formula else "",
        )


def of_policies() -> Iterator[Entry]:
    """Yield an entry for each policy and baseline proxy."""
    for sheet in _sheets():
        title = sheet.title or title_of(sheet.name)
        yield Entry(title, (title, sheet.name), sheet.idea, sheet.rule)


def of_parameters() -> Iterator[Entry]:
    """Yield an entry for each name that a parameter of a policy has."""
    found: dict[str, dict[str, list[str]]] = {}
    for sheet in _sheets():
        for parameter in sheet.parameters:
            meanings = found.setdefault(parameter.name, {})
            meanings.setdefault(_meaning(parameter), []).append(sheet.title or title_of(sheet.name))
    for name, meanings in found.items():
        parts = [f"{', '.join(titles)}: {meaning}." for meaning, titles in meanings.items()]
        names = (name, name.replace("_", " "), name.replace("_", " ").removesuffix(" s"))
        yield Entry(f"Parameter {name}", names, " ".join(parts), is_parameter=True)


def _sheets() -> Iterator[Sheet]:
    from gateway.policies import ADMISSIONS, NO_ADMISSION, POLICIES, registry

    yield from map(registry.sheet, POLICIES)
    yield from (registry.admission_sheet(name) for name in ADMISSIONS if name != NO_ADMISSION)
    yield from (proxy.sheet for proxy in baseline_sheets.PROXIES.values())


def _meaning(parameter: Parameter) -> str:
    if isinstance(parameter.default, int | float):
        return f"{parameter.meaning}; default {parameter.default:g} {parameter.unit}"
    return f"{parameter.meaning}; a number for each page type"


@cache
def entries() -> tuple[Entry, ...]:
    """Return all entries."""
    return (*written(), *of_policies(), *of_parameters())


def key(label: str) -> str:
    """Return a label in the form that `find` compares."""
    return " ".join(label.casefold().split())


@cache
def keys(*, of_parameters: bool) -> dict[str, int]:
    """Return name → position in `entries`, either of parameters or of all other terms."""
    found: dict[str, int] = {}
    for place, entry in enumerate(entries()):
        if entry.is_parameter == of_parameters:
            for name in entry.names:
                found.setdefault(key(name), place)
    return found


def find(label: str, *, is_parameter: bool = False) -> Entry | None:
    """Return the entry of a label; the labels of a form look for a parameter first.

    A combination has the entry of its first part: `ρ = 1.4 SQ + SBAC hybrid` has that of SQ. The
    console's `glossary.js` follows the same rule.
    """
    whole = key(label)
    if not whole:
        return None
    rest = _LOAD.sub("", whole)
    for name in (whole, rest or "ρ", re.split(r" \+ |, | \(", rest)[0]):
        for known in ([keys(of_parameters=True)] if is_parameter else []) + [
            keys(of_parameters=False)
        ]:
            if name in known:
                return entries()[known[name]]
    return None


def sections(title: str, found: Iterator[Entry]) -> str:
    """Return a section of the page with entries that come from data sheets."""
    lines = [f"## {title}"]
    for entry in found:
        text = entry.text.replace("*", "\\*").replace("<", "&lt;")
        lines += ["", f"### {entry.title}", "", text]
        lines += ["", f"    {entry.formula}"] if entry.formula else []
    return "\n".join(lines)

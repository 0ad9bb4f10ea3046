"""The glossary: the entries of docs/glossary.md, and entries from the data sheets of policies."""

import re
import unicodedata
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache

from gateway.policies.sheet import Parameter, Sheet
from lab.baselines import sheets as baseline_sheets
from lab.wording import title_of
from runtime.settings import REPOSITORY

PAGE = REPOSITORY / "docs" / "glossary.md"

_ENTRY = re.compile(r"^### (.+)\n\n((?:.+\n|\n(?!#))*)", re.MULTILINE)
_ALSO = re.compile(r"^\*Also:\* (.+)$", re.MULTILINE)
_FORMULA = re.compile(r"^    (.+)$", re.MULTILINE)
_GENERATED = re.compile(r"^<!-- .+ -->$", re.MULTILINE)
_LOAD = re.compile(r"^ρ = [\d.]+ ?")

IN_TEXT = {
    "Paper second": r"[Pp]aper seconds?|paper s",
    "Offered load": r"[Oo]ffered loads?|ρ|rho",
    "Confirm": r"[Cc]onfirms",
    "Bound": r"[Cc]apacity bound|(?<=[Tt]he )bound(?! to)|Bound",
    "Revenue efficiency": r"(?:[Rr]evenue )?[Ee]fficienc(?:y|ies)",
    "Orphan request": r"[Oo]rphan requests?|[Oo]rphans?",
    "Wasted work": r"[Ww]asted work",
    "Goodput": r"[Gg]oodput",
    "Concurrency limit": r"[Cc]oncurrency limits?",
    "Processor sharing": r"[Pp]rocessor sharing",
    "Metastable collapse": r"[Mm]etastable collapse",
    "Paired difference": r"[Pp]aired differences?",
    "95 % interval": r"95 % intervals?",
    "ac-interval": r"ac-intervals?",
    "ELM, EAC and ECM": r"ELM|EAC|ECM",
    "Connection Sentry": r"Connection Sentry",
    "FIFO": r"FIFO",
    "LIFO": r"LIFO",
    "DOOR": r"DOOR",
}
"""The patterns of the terms that pages explain within sentences, in addition to policies and page
types. Pages do not explain the other terms within sentences, because these terms are ordinary words
there."""
_PAGE_TYPE = re.compile(r"(?:Br|Tr)-\d")


@dataclass(frozen=True, slots=True)
class Entry:
    """A term with its synonyms, its explanation, and its formula, if any."""

    title: str
    names: tuple[str, ...]
    text: str
    formula: str = ""
    is_parameter: bool = False

    @property
    def anchor(self) -> str:
        """The id that Sphinx generates for the entry's section on the page."""
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
    """Yield an entry for each parameter name. Parameters with the same name share an entry."""
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
    return f"{parameter.meaning}; one number for each page type"


@cache
def entries() -> tuple[Entry, ...]:
    """Return all entries."""
    return (*written(), *of_policies(), *of_parameters())


def key(label: str) -> str:
    """Return a label in the form in which `find` compares labels."""
    return " ".join(label.casefold().split())


@cache
def keys(*, of_parameters: bool) -> dict[str, int]:
    """Return the positions of entries in `entries` by name, for parameters or for other terms."""
    found: dict[str, int] = {}
    for place, entry in enumerate(entries()):
        if entry.is_parameter == of_parameters:
            for name in entry.names:
                found.setdefault(key(name), place)
    return found


@cache
def in_text() -> tuple[tuple[str, int], ...]:
    """Return the pattern and the position of each entry that pages explain in running text.
    Patterns are valid in Python and in JavaScript. Policies come first, longer titles before
    shorter titles."""
    found = []
    for place, entry in enumerate(entries()):
        if entry.title in IN_TEXT:
            found.append((IN_TEXT[entry.title], place))
        elif page := _PAGE_TYPE.match(entry.title):
            found.append((rf"{entry.title}|{page[0]}", place))
    policies = list(of_policies())
    titles = {entry.title: keys(of_parameters=False)[key(entry.title)] for entry in policies}
    by_length = sorted(titles, key=len, reverse=True)
    found = [*((re.sub(r"([+.])", r"\\\1", title), titles[title]) for title in by_length), *found]
    return tuple((rf"(?<![\w-])(?:{pattern})(?![\w-])", place) for pattern, place in found)


def find(label: str, *, is_parameter: bool = False) -> Entry | None:
    """Return the entry for a label, or None. With `is_parameter`, search the parameters first. A
    combination has the entry of its first part: `ρ = 1.4 SQ + SBAC hybrid` has the entry of SQ. The
    console's `glossary.js` must follow the same rules."""
    whole = key(label)
    if not whole:
        return None
    rest = _LOAD.sub("", whole)
    kinds = (True, False) if is_parameter else (False,)
    for name in (whole, rest or "ρ", re.split(r" \+ |, | \(", rest)[0]):
        for kind in kinds:
            if name in (known := keys(of_parameters=kind)):
                return entries()[known[name]]
    return None


def sections(title: str, found: Iterator[Entry]) -> str:
    """Return a section of the glossary page with entries from data sheets."""
    lines = [f"## {title}"]
    for entry in found:
        text = entry.text.replace("*", "\\*").replace("<", "&lt;")
        lines += ["", f"### {entry.title}", "", text]
        lines += ["", f"    {entry.formula}"] if entry.formula else []
    return "\n".join(lines)

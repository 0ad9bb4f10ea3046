"""The rules of plain English that a program can check."""

import re
from collections.abc import Iterator
from dataclasses import dataclass

from tests.language.passages import Form, Passage

LONGEST_SENTENCE = 40
LONGEST_MEAN = 20.0
"""Words of a sentence of a file, on average."""
FEWEST_SENTENCES = 5
"""A file with fewer sentences has no mean worth checking."""


@dataclass(frozen=True, slots=True)
class Finding:
    """A place that breaks a rule."""

    path: str
    line: int
    rule: str
    text: str

    def __str__(self) -> str:
        return f"{self.path}:{self.line}: {self.rule}: {self.text}"


@dataclass(frozen=True, slots=True)
class Phrase:
    """Words to avoid, and what to write."""

    pattern: re.Pattern[str]
    write: str


def _phrases(table: dict[str, str]) -> list[Phrase]:
    return [
        Phrase(re.compile(rf"\b(?:{words})", re.IGNORECASE), write)
        for words, write in table.items()
    ]


WORDS = _phrases(
    {
        r"mend(?:s|ed|ing)?\b": "fix, how to fix it",
        r"dear(?:er|est)?\b": "expensive",
        r"anew\b": "again",
        r"so (?:many|long|often)\b(?! (?:[\w’'-]+ ){0,6}that\b)": "this many, for this long, N",
        r"(?:(?:all|every|no|any)(?: \w+)?|everything|nothing|none) but\b(?! also)": "except",
        r"beside\b": "next to, compared with",
        r"(?:is|are|was|were|be|been|being) said\b": "prints, reports",
        r"(?:say|says|said) so\b": "reports it, shows it",
        r"(?:told|asked)\b(?! apart)": "shows, reports, explains, receives",
        r"(?:stands?|stood|lies?|lay) in\b": "is in",
        r"go(?:es)? before\b": "overrides, comes first",
        r"cannot be meant\b": "is invalid",
        r"(?:mak(?:e|es|ing)|made) (?:(?:a|an|the|its|all|every|each|no|live|\d+) )*runs?\b": "run",
        r"runs? (?:is|are|was|were) made\b": "run",
        r"said with them\b": "explained",
        r"reckon\w*": "calculate",
        r"h[eo]ld(?:s|ing)? to\b": "check against",
        r"(?:each|every|last|next|between|two|ten|a single) looks?\b": "sample",
        r"comes? along\b": "is included",
        r"(?:somebody|someone|nobody|everybody|anybody)\b": "name the client, request or person",
        r"who(?:m|se)?ever\b": "name the actor: a client that, any caller",
        r"one['’]s\b": "your, or name the owner",
        r"of (?:its|his|her|their|one['’]s) own\b": "separate, its",
        r"(?<!\bthe )(?<!\bthis )(?<!\beach )(?<!\bno )(?<!\bthat )one "
        r"(?:can|could|may|might|must|should|would|has to|sees|wants|knows|needs)\b": "you",
        r"(?:he|his|him|himself)\b": "the customer, they",
        r"otherwise than\b": "differently from",
        r"(?<!\bthere )(?:is|are|was|were) (?:(?-i:none)\b|no (?!longer|more|less|fewer"
        r"|better|worse|other)[a-z]+\b)": "a positive rule: must be, is not",
        r"(?<!thing )(?<!who )(?<!what )(?<!where )(?<!one )else(?=[.;:,]|$)": "otherwise, first",
    }
)
"""Words and turns, with what stands for them in plain English."""

TERMS = _phrases(
    {
        r"hands\b(?! (?:out|over|on|it|them|that|to|the|whole)\b)": "concurrency limit",
        r"(?<!in-)house\b": "session in progress",
        r"(?-i:(?<![/-])doors?)\b(?![.-]\w)": "admission queue, connection registry",
        r"peers?\b": "baseline proxy",
        r"lanes?\b": "queue, live shop, bypass",
        r"farms?\b": "Celery executor",
        r"shelved\b": "in the result list",
        r"exhibits?\b": "figure, table, experiment card",
        r"at hand\b": "available",
        r"witness(?:es|ed)?\b": "observer",
        r"(?:story|stories)\b": "decision trace",
        r"hang-ups?\b": "customers who left",
    }
)
"""Names that the project once used, with the terms of the field."""

PHRASES = (*WORDS, *TERMS)
ANY = re.compile("|".join(f"(?i:{phrase.pattern.pattern})" for phrase in PHRASES))
"""Finds whether any phrase occurs, in one pass."""

HEADLESS = re.compile(r"(Who|Whom|Whose|Whoever|What|Of|Nobody)\b", re.IGNORECASE)
"""Openings of a declarative sentence without a noun as its subject."""
NAMES = re.compile(r"few hands|fresh door|house first|limit hands", re.IGNORECASE)
"""Names of DOOR's steps and of its limit, as results and specs have them."""

_ABBREVIATION = re.compile(r"(?:\b(?:e\.g|i\.e|vs|al|Jr|cf|etc|no|p|pp|eq|Figs?|[A-Z])|^\d+)\.$")
_END = re.compile(r"(?<=[.!?])[\"”’)*_]*\s+(?=[\"“(*_]*[A-Z0-9`§ρλ±]|\([a-z]\) )")
_WORD = re.compile(r"[^\s]*\w[^\s]*")


def sentences(text: str) -> list[str]:
    """Split a passage into sentences."""
    found: list[str] = []
    for part in _END.split(text):
        if found and _ABBREVIATION.search(found[-1]):
            found[-1] += f" {part}"
        else:
            found.append(part)
    return [part.strip() for part in found if part.strip()]


def words(sentence: str) -> int:
    """Count words; a piece of code or a number is one."""
    return len(_WORD.findall(sentence))


def findings(passage: Passage) -> Iterator[Finding]:
    """Check one passage, except for the mean length of its file."""
    text = NAMES.sub("step", passage.text)
    for phrase in PHRASES if ANY.search(text) else ():
        for match in phrase.pattern.finditer(text):
            start = max(0, match.start() - 30)
            yield Finding(
                passage.path,
                passage.line,
                f"“{match[0]}”, write: {phrase.write}",
                f"…{text[start : match.end() + 30]}…",
            )
    if passage.form is Form.HEADING:
        return
    for sentence in sentences(text):
        opening = HEADLESS.match(sentence.lstrip('*_("“'))
        if opening and _is_declarative(sentence, passage.form):
            yield Finding(passage.path, passage.line, f"begins with “{opening[0]}”", sentence[:90])
        if passage.form in {Form.PROSE, Form.DOCSTRING, Form.MESSAGE}:
            length = words(sentence)
            if length > LONGEST_SENTENCE:
                yield Finding(passage.path, passage.line, f"{length} words", f"{sentence[:90]}…")


def _is_declarative(sentence: str, form: Form) -> bool:
    if "?" in sentence:
        return False
    return form is not Form.CELL or (sentence[0].isupper() and sentence.endswith("."))


def mean_length(passages: list[Passage]) -> float:
    """Mean words of a sentence in paragraphs and lists; 0 where there are few of them."""
    lengths = [
        words(sentence)
        for passage in passages
        if passage.form in {Form.PROSE, Form.ITEM}
        for sentence in sentences(passage.text)
    ]
    return sum(lengths) / len(lengths) if len(lengths) >= FEWEST_SENTENCES else 0.0

"""The rules that give requests their page types, and the reader of the rules file."""

import re
import tomllib
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final
from urllib.parse import unquote_to_bytes

from gateway.http.request_reader import METHODS
from gateway.policies.interface import Page

DEFAULT_FILE: Final = Path(__file__).with_name("pages.toml")
_FIELDS: Final = ("page", "methods", "path")
# Paths contain ids, so their number is unlimited, and only this number of results is cached.
_REMEMBERED: Final = 4096


class RulesError(ValueError):
    """The error for an unusable rules file. The message names the file and, if a field is faulty,
    the field.
    """


@dataclass(frozen=True, slots=True)
class Rule:
    """A rule of the rules file: a request has the type `page` if `methods` contains its method and
    `path` matches its whole path.
    """

    page: Page
    methods: frozenset[bytes]
    path: re.Pattern[str]


class PageRules:
    """The rules that classify requests; the first matching rule decides."""

    def __init__(self, rules: list[Rule]) -> None:
        self.rules = tuple(rules)
        """The rules in the order in which they are tried."""
        self.known: dict[tuple[bytes, bytes], Page | None] = {}

    def page(self, method: bytes, target: bytes) -> Page | None:
        """Return the page type of a request for `target` (in origin form); None if no rule
        matches.
        """
        raw = target.partition(b"?")[0]
        key = (method, raw)
        try:
            return self.known[key]
        except KeyError:
            pass
        # Decoded once, as in the shop: "/%73earch/" must not bypass the policy.
        path = unquote_to_bytes(raw).decode("utf-8", "replace")
        page = None
        for rule in self.rules:
            if method in rule.methods and rule.path.fullmatch(path):
                page = rule.page
                break
        if len(self.known) >= _REMEMBERED:
            self.known.clear()
        self.known[key] = page
        return page


def load(file: Path = DEFAULT_FILE) -> PageRules:
    """Return the rules in `file`; raise RulesError if the file is unreadable or invalid."""
    try:
        document = tomllib.loads(file.read_text("utf-8"))
    except OSError as error:
        raise RulesError(f"{file}: cannot be read: {error.strerror}") from None
    except (tomllib.TOMLDecodeError, UnicodeDecodeError) as error:
        raise RulesError(f"{file}: must be valid TOML: {error}") from None
    unknown = sorted(set(document) - {"rule"})
    if unknown:
        raise RulesError(f"{file}: unknown key {unknown[0]!r}; allowed: [[rule]]")
    tables = document.get("rule")
    if not isinstance(tables, list) or not tables:
        raise RulesError(f"{file}: must have at least one [[rule]]")
    return PageRules([_rule(f"{file}: rule {n}", table) for n, table in enumerate(tables, 1)])


def _rule(where: str, table: Any) -> Rule:
    if not isinstance(table, dict):
        raise RulesError(f"{where}: must be a table")
    for field in table:
        if field not in _FIELDS:
            raise RulesError(f"{where}: unknown field {field!r}; allowed: {', '.join(_FIELDS)}")
    for field in _FIELDS:
        if field not in table:
            raise RulesError(f"{where}: field {field!r} is missing")
    try:
        page = Page(table["page"])
    except ValueError:
        raise RulesError(
            f"{where}: page: is {table['page']!r}; allowed: {', '.join(Page)}"
        ) from None
    methods = table["methods"]
    allowed = [method.decode() for method in METHODS]
    if not isinstance(methods, list) or not methods or any(m not in allowed for m in methods):
        raise RulesError(
            f"{where}: methods: is {methods!r}; must be a list of methods from {', '.join(allowed)}"
        )
    is_path = f"{where}: path: is {table['path']!r}; must be a regular expression"
    if not isinstance(table["path"], str) or not table["path"].startswith("/"):
        raise RulesError(f"{is_path} that begins with '/'")
    try:
        path = re.compile(table["path"])
    except re.error as error:
        raise RulesError(f"{is_path}: {error}") from None
    return Rule(page, frozenset(method.encode() for method in methods), path)

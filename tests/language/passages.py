"""The passages that people read: in documents, in templates, in docstrings and messages of code."""

import ast
import json
import re
from collections.abc import Iterator
from dataclasses import dataclass
from enum import Enum
from pathlib import Path

from markdown_it import MarkdownIt
from markdown_it.token import Token

REPOSITORY = Path(__file__).resolve().parents[2]
CODE = "`x`"
"""Stands for a piece of code, a formula or a template's variable: one word, never checked."""


class Form(Enum):
    """Where a passage is; some rules are for some forms only."""

    PROSE = "paragraph"
    ITEM = "item of a list"
    CELL = "cell of a table"
    HEADING = "heading"
    DOCSTRING = "docstring"
    MESSAGE = "message"


@dataclass(frozen=True, slots=True)
class Passage:
    """A paragraph, an item, a cell, a heading, a docstring, a message."""

    path: str
    line: int
    form: Form
    text: str


def of_markdown(path: Path) -> Iterator[Passage]:
    """Passages of a document, without its code. Tables of result pages are recorded output."""
    name = str(path.relative_to(REPOSITORY))
    recorded = "docs/results/" in name and path.name != "README.md"
    form, line, items = Form.PROSE, 1, 0
    for token in _MARKDOWN.parse(path.read_text(encoding="utf-8")):
        if token.map:
            line = token.map[0] + 1
        items += {"list_item_open": 1, "list_item_close": -1}.get(token.type, 0)
        match token.type:
            case "heading_open":
                form = Form.HEADING
            case "td_open" | "th_open":
                form = Form.CELL
            case "paragraph_open":
                form = Form.ITEM if items else Form.PROSE
            case "inline" if not (recorded and form is Form.CELL):
                text = _words(token.children or [])
                if text:
                    yield Passage(name, line, form, text)


_MARKDOWN = MarkdownIt("commonmark").enable("table")


def _words(tokens: list[Token]) -> str:
    parts = []
    for token in tokens:
        match token.type:
            case "text":
                parts.append(token.content)
            case "code_inline":
                parts.append(CODE)
            case "softbreak" | "hardbreak":
                parts.append(" ")
            case "image":
                parts.append(f"{token.content}. ")
    return " ".join("".join(parts).split())


def of_template(path: Path) -> Iterator[Passage]:
    """Texts between the tags of a Django or Jinja template."""
    yield from _between_tags(str(path.relative_to(REPOSITORY)), 1, path.read_text(encoding="utf-8"))


def _between_tags(name: str, line: int, text: str) -> Iterator[Passage]:
    for pattern in (r"\{#.*?#\}", r"\{% comment %\}.*?\{% endcomment %\}", r"<!--.*?-->"):
        text = re.sub(pattern, _lines_of, text, flags=re.DOTALL)
    text = re.sub(r"<(script|style|code|pre)\b.*?</\1>", _lines_of, text, flags=re.DOTALL)
    text = re.sub(r"\{\{.*?\}\}", CODE, text, flags=re.DOTALL)
    text = re.sub(r"\{%.*?%\}", _lines_of, text, flags=re.DOTALL)
    text = re.sub(r"</?(?:strong|em|b|i|a|span|kbd|abbr|small)\b[^>]*>", "", text)
    for part in re.split(r"<[^>]*>", text):
        words = " ".join(part.split())
        if len(words.split()) > 1:
            yield Passage(name, line, Form.MESSAGE, words)
        line += part.count("\n")


def _lines_of(match: re.Match[str]) -> str:
    return "\n" * match[0].count("\n")


def of_python(path: Path) -> Iterator[Passage]:
    """Docstrings of a module and its attributes, and string literals that read like messages."""
    name = str(path.relative_to(REPOSITORY))
    nodes = list(ast.walk(ast.parse(path.read_text(encoding="utf-8"))))
    docstrings = {node.value for node in nodes if isinstance(node, ast.Expr)}
    pieces = {piece for node in nodes if isinstance(node, ast.JoinedStr) for piece in node.values}
    for node in nodes:
        if not isinstance(node, ast.Constant | ast.JoinedStr) or node in pieces:
            continue
        text = _literal(node)
        if node in docstrings:
            for paragraph in _paragraphs(text):
                yield Passage(name, node.lineno, Form.DOCSTRING, paragraph)
        elif text.lstrip().startswith("<!doctype"):
            yield from _between_tags(name, node.lineno, text)
        elif len(_SENTENCE.findall(text)) >= 2 and not _is_code(text):
            words = " ".join(re.sub(r"`[^`]*`", CODE, text).split())
            yield Passage(name, node.lineno, Form.MESSAGE, words)


_SENTENCE = re.compile(r"[A-Za-z]{2,} +[a-z]{2,}")
"""Two words in a row; a literal with two such pairs reads like a message."""
_SQL = re.compile(r"\s*(?:SELECT|WITH|INSERT|UPDATE|DELETE|CREATE|DO) ")
"""The beginning of a literal that is a statement for the database."""


def _is_code(text: str) -> bool:
    """Return whether a literal is SQL, a program of several lines, or nginx's configuration."""
    if _SQL.match(text):
        return True
    lines = [line.rstrip() for line in text.splitlines() if line.strip()]
    if len(lines) < 3:
        return False
    if sum(line.endswith((";", "{", "}")) for line in lines) > len(lines) / 2:
        return True
    try:
        ast.parse(text)
    except SyntaxError:
        return False
    return True


def _literal(node: ast.Constant | ast.JoinedStr) -> str:
    if isinstance(node, ast.Constant):
        return node.value if isinstance(node.value, str) else ""
    return "".join(
        str(part.value) if isinstance(part, ast.Constant) else CODE for part in node.values
    )


def of_result(path: Path) -> Iterator[Passage]:
    """Notes, captions and claims in a JSON file of a result, which the console shows."""
    for text in _strings(json.loads(path.read_text(encoding="utf-8"))):
        if len(text.split()) >= 5:  # shorter texts are titles and values
            yield Passage(str(path.relative_to(REPOSITORY)), 1, Form.PROSE, text)


def _strings(value: object) -> Iterator[str]:
    match value:
        case str():
            yield value
        case list():
            for each in value:
                yield from _strings(each)
        case dict():
            yield from _strings(list(value.values()))


_AS_WRITTEN = "\b"
"""Begins a list in a command's help, which is printed line by line."""


def _paragraphs(docstring: str) -> Iterator[str]:
    for block in re.split(r"\n\s*\n", docstring):
        text = " ".join(re.sub(r"`[^`]*`", CODE, block).split())
        if text and not text.startswith((">>>", "|", "- ", "* ", _AS_WRITTEN)):
            yield text

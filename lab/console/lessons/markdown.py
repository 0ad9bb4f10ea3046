"""The conversion of lab sheets from Markdown to HTML, with links that work in the console."""

import posixpath
import re
from collections.abc import Iterator, Sequence
from pathlib import PurePosixPath
from typing import Any
from urllib.parse import urljoin

from django.urls import reverse
from django.utils.safestring import SafeString
from markdown_it import MarkdownIt
from markdown_it.renderer import RendererHTML
from markdown_it.token import Token

from runtime.settings import Settings

_OF_CONSOLE, _OF_SHOP = (
    f"http://127.0.0.1:{Settings.model_fields[name].default}/"
    for name in ("lab_port", "gateway_port")
)
"""The addresses of the console and of the shop in the sheets, with the default ports."""
_URL = re.compile(r"https?://[^\s)>\"']+[^\s)>\"'.,;:?!]")
_ABOVE_DOCS = {"CONTRIBUTING.md": "contributing", "README.md": "index"}
"""The documents outside the folder docs, with their pages on the documentation site."""


class _Renderer(RendererHTML):
    """A renderer that makes wide tables scrollable, and wide code scrollable by keyboard."""

    def table_open(self, *_: Any) -> str:
        return '<div class="scroll" tabindex="0" role="region" aria-label="Table"><table>\n'

    def table_close(self, *_: Any) -> str:
        return "</table></div>\n"

    def code_block(self, *given: Any) -> str:
        return super().code_block(*given).replace("<pre>", '<pre tabindex="0">')


_PARSER = MarkdownIt("commonmark", {"html": False}, renderer_cls=_Renderer).enable("table")


def html(text: str, shop: str, console: str) -> SafeString:
    """Return the HTML of a sheet's Markdown. `shop` and `console` are the addresses for this
    browser."""
    tokens = _PARSER.parse(text)
    for token in tokens:
        if token.children:
            token.children = list(_with_links(token.children, shop, console))
    # The sheets are part of the project, and the parser escapes any HTML in them.
    return SafeString(_PARSER.renderer.render(tokens, _PARSER.options, {}))


def _with_links(tokens: Sequence[Token], shop: str, console: str) -> Iterator[Token]:
    inside = False
    for token in tokens:
        if token.type == "link_open":
            inside = True
            token.attrSet("href", address(str(token.attrGet("href")), shop))
        elif token.type == "link_close":
            inside = False
        elif token.type == "image":
            name = PurePosixPath(str(token.attrGet("src"))).name
            token.attrSet("src", reverse("lesson-picture", args=[name]))
            token.attrSet("loading", "lazy")
        if token.type == "text" and not inside:
            yield from _with_plain_addresses(token.content, shop, console)
        else:
            yield token


def _with_plain_addresses(text: str, shop: str, console: str) -> Iterator[Token]:
    end = 0
    for found in _URL.finditer(text):
        target = address(found[0], shop)
        yield _text(text[end : found.start()])
        yield Token("link_open", "a", 1, attrs={"href": target})
        yield _text(urljoin(console, target))
        yield Token("link_close", "a", -1)
        end = found.end()
    yield _text(text[end:])


def _text(content: str) -> Token:
    return Token("text", "", 0, content=content)


def address(target: str, shop: str) -> str:
    """Return the address in the console for a link of a sheet."""
    for of_part, here in ((_OF_CONSOLE, "/"), (_OF_SHOP, shop)):
        if target.startswith(of_part) or target == of_part.rstrip("/"):
            return here + target.removeprefix(of_part).removeprefix(of_part.rstrip("/"))
    if "://" in target:
        return target
    path, hash_, anchor = target.partition("#")
    page = posixpath.normpath(posixpath.join("labs", path))
    if lesson := re.fullmatch(r"labs/(\d\d)-[\w-]+\.md", page):
        return reverse("lesson", args=[int(lesson[1])])
    name = _ABOVE_DOCS.get(page.removeprefix("../"), page.removesuffix(".md"))
    return reverse("documentation-page", args=[f"{name}.html"]) + hash_ + anchor

"""The forms of a page, filled in as a browser and its user do."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from html.parser import HTMLParser
from urllib.parse import urlencode

_NOT_SENT = {"submit", "button", "reset", "image", "file"}


@dataclass(slots=True)
class Field:
    """A field that a browser would send; `value` is the page's value."""

    name: str
    kind: str
    value: str
    required: bool


@dataclass(slots=True)
class Form:
    """A form of a page: its URL, and its fields in their order."""

    action: str
    fields: list[Field] = field(default_factory=list)

    def filled(self, typed: Mapping[str, str]) -> str:
        """Return the form as a URL-encoded body; `typed` has the customer's texts by field name.

        Hidden fields and fields without such a text keep the page's value, for example the CSRF
        token or a chosen option. A required field without any value gets `1`.
        """
        pairs = []
        for entry in self.fields:
            value = entry.value
            if entry.kind != "hidden" and entry.name in typed:
                value = typed[entry.name]
            elif not value and entry.required:
                value = "1"
            pairs.append((entry.name, value))
        return urlencode(pairs)


def find_form(page: bytes, action: str) -> Form | None:
    """Return the first form of `page` that is sent to the path `action`, or None."""
    reader = _FormReader(action)
    reader.feed(page.decode("utf-8", "replace"))
    return reader.found


class _FormReader(HTMLParser):
    def __init__(self, action: str) -> None:
        super().__init__()
        self._action = action
        self.found: Form | None = None
        self._inside = False
        self._select: Field | None = None
        self._area: Field | None = None

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        given = {name: value or "" for name, value in attrs}
        if tag == "form":
            action = given.get("action", "").partition("?")[0]
            if self.found is None and action == self._action:
                self.found = Form(given["action"])
                self._inside = True
            return
        if not self._inside or self.found is None or "disabled" in given:
            return
        if tag == "option" and self._select is not None:
            if not self._select.value or "selected" in given:
                self._select.value = given.get("value", "")
            return
        name = given.get("name", "")
        if not name:
            return
        required = "required" in given
        if tag == "input":
            self._input(given, name, required)
        elif tag == "button" and given.get("value"):
            self.found.fields.append(Field(name, "hidden", given["value"], required=False))
        elif tag == "select":
            self._select = Field(name, "select", "", required)
            self.found.fields.append(self._select)
        elif tag == "textarea":
            self._area = Field(name, "text", "", required)
            self.found.fields.append(self._area)

    def _input(self, given: dict[str, str], name: str, required: bool) -> None:
        assert self.found is not None
        kind = given.get("type", "text").lower()
        if kind in _NOT_SENT:
            return
        if kind in {"radio", "checkbox"}:
            known = any(entry.name == name for entry in self.found.fields)
            # If the page has checked no radio button, the customer chooses the first.
            wanted = "checked" in given or required or kind == "radio"
            if not wanted or (known and "checked" not in given):
                return
            if known:
                self.found.fields = [entry for entry in self.found.fields if entry.name != name]
            self.found.fields.append(Field(name, kind, given.get("value", "on"), required))
            return
        self.found.fields.append(Field(name, kind, given.get("value", ""), required))

    def handle_data(self, data: str) -> None:
        if self._area is not None:
            self._area.value += data

    def handle_endtag(self, tag: str) -> None:
        if tag == "form":
            self._inside = False
        elif tag == "select":
            self._select = None
        elif tag == "textarea":
            self._area = None

"""The keys of specs, from the JSON schema, with the meanings that docs/spec-keys.md has."""

import re
from collections.abc import Iterator
from typing import Any

from command_line import cell

from runtime.settings import REPOSITORY

LIMITS = {
    "minimum": "at least {}",
    "exclusiveMinimum": "more than {}",
    "maximum": "at most {}",
    "exclusiveMaximum": "less than {}",
    "maxLength": "at most {} characters",
    "minItems": "at least {} of them",
    "maxItems": "at most {} of them",
}
_ROW = re.compile(r"^\| `([\w.]+)` \| [^|]+ \| (.+) \|$", re.MULTILINE)
_BEGIN = "| key | value | default | meaning |\n| --- | --- | --- | --- |"


def sections() -> str:
    """Return a table of keys for the whole spec and for each of its sections."""
    from lab.spec.experiment import Spec

    schema = Spec.model_json_schema()
    lines: list[str] = []
    for path, part in _parts("", schema, schema["$defs"]):
        kind = part["properties"].get("kind", {}).get("const", "")
        title = (
            f"`{path}`" + (f" of the kind `{kind}`" if kind else "") if path else "The whole spec"
        )
        lines += ["", f"### {title}", "", _BEGIN, *_rows(path, part)]
    return "\n".join(lines)


def _parts(
    path: str, schema: dict[str, Any], known: dict[str, Any]
) -> Iterator[tuple[str, dict[str, Any]]]:
    """Yield the path and the schema of each section, and then of the sections inside it."""
    yield path, schema
    for key, part in schema["properties"].items():
        for name in _sections_of(part):
            yield from _parts(f"{path}.{key}".strip("."), known[name], known)


def _sections_of(part: dict[str, Any]) -> list[str]:
    """Return the names of the sections that a key may have."""
    if "$ref" in part:
        return [part["$ref"].rpartition("/")[2]]
    inner = [*part.get("anyOf", ()), *part.get("oneOf", ()), *filter(None, [part.get("items")])]
    return [name for one in inner for name in _sections_of(one)]


def _rows(path: str, schema: dict[str, Any]) -> Iterator[str]:
    page = (REPOSITORY / "docs" / "spec-keys.md").read_text(encoding="utf-8")
    meanings = dict(_ROW.findall(page))
    required = schema.get("required", ())
    for key, part in schema["properties"].items():
        default = "required" if key in required else _default(part)
        meaning = meanings.get(f"{path}.{key}".strip("."), "a section, whose keys are below")
        yield f"| `{key}` | {_kind(part)} | {default} | {meaning} |"


def _kind(part: dict[str, Any]) -> str:
    if choices := [*part.get("anyOf", ()), *part.get("oneOf", ())]:
        kinds = [_kind(one) for one in choices if one.get("type") != "null"]
        return " or ".join(dict.fromkeys(kinds))
    if "enum" in part:
        return ", ".join(f"`{_toml(one)}`" for one in part["enum"])
    if "const" in part:
        return f"`{_toml(part['const'])}`"
    limits = [words.format(part[name]) for name, words in LIMITS.items() if name in part]
    kind = "section" if "$ref" in part else part.get("type", "any value")
    if kind == "array":
        kind = f"list of {_kind(part['items'])}" if "items" in part else "list"
    elif kind == "object":
        kind = "table"
    return ", ".join([kind, *limits])


def _default(part: dict[str, Any]) -> str:
    default = part.get("default")
    if default is None or default == {}:
        return "–"
    return "see its section" if _sections_of(part) else f"`{cell(_toml(default))}`"


def _toml(value: object) -> str:
    return str(value).lower() if isinstance(value, bool) else str(value)

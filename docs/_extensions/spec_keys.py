"""The keys of specs, from their JSON schema and the docstrings of their fields."""

import ast
import inspect
import textwrap
from typing import Any

from command_line import cell

LIMITS = {
    "minimum": "at least {}",
    "exclusiveMinimum": "more than {}",
    "maximum": "at most {}",
    "exclusiveMaximum": "less than {}",
    "maxLength": "at most {} characters",
    "minItems": "at least {} of them",
    "maxItems": "at most {} of them",
}


def sections() -> str:
    """Return a table of keys for the whole spec and for each of its sections."""
    from lab.spec.experiment import Spec

    schema = Spec.model_json_schema()
    models = {name: _model(name) for name in schema["$defs"]}
    parts = [_section("The spec", schema, Spec)]
    parts += [_section(name, part, models[name]) for name, part in schema["$defs"].items()]
    return "\n".join(parts)


def _model(name: str) -> type:
    from lab.spec import sections as module

    model: type = getattr(module, name)
    return model


def _section(title: str, schema: dict[str, Any], model: type) -> str:
    meanings = _docstrings(model)
    description = schema.get("description", "").replace("\n", " ").strip()
    lines = [f"### {title}", "", description, "", "| key | value | default | meaning |"]
    lines.append("| --- | --- | --- | --- |")
    required = schema.get("required", ())
    for key, part in schema["properties"].items():
        default = "required" if key in required else _default(part)
        lines.append(
            f"| `{key}` | {cell(_kind(part))} | {default} | {cell(meanings.get(key, ''))} |"
        )
    return "\n".join([*lines, ""])


def _kind(part: dict[str, Any]) -> str:
    if "anyOf" in part:
        kinds = [_kind(one) for one in part["anyOf"] if one.get("type") != "null"]
        return " or ".join(dict.fromkeys(kinds))
    if "$ref" in part:
        name = part["$ref"].rpartition("/")[2]
        return f"[{name}](#{name.lower()})"
    if "enum" in part:
        return ", ".join(f"`{one}`" for one in part["enum"])
    if "const" in part:
        return f"`{part['const']}`"
    limits = [words.format(part[name]) for name, words in LIMITS.items() if name in part]
    kind = part.get("type", "any value")
    if kind == "array":
        kind = f"list of {_kind(part['items'])}" if "items" in part else "list"
    elif kind == "object":
        kind = "table"
    return ", ".join([kind, *limits])


def _default(part: dict[str, Any]) -> str:
    default = part.get("default")
    if default is None:
        return "none"
    if isinstance(default, dict | list) and any(
        isinstance(one, dict) for one in [default, *default]
    ):
        return "see its section" if isinstance(default, dict) and default else "see above"
    return f"`{cell(str(default))}`"


def _docstrings(model: type) -> dict[str, str]:
    """Return the string that follows each field in the model's source."""
    body = ast.parse(textwrap.dedent(inspect.getsource(model))).body[0]
    assert isinstance(body, ast.ClassDef)
    found = {}
    for field, after in zip(body.body, body.body[1:], strict=False):
        if (
            isinstance(field, ast.AnnAssign)
            and isinstance(field.target, ast.Name)
            and isinstance(after, ast.Expr)
            and isinstance(after.value, ast.Constant)
        ):
            found[field.target.id] = str(after.value.value)
    return found

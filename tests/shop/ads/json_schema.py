"""Checks an answer against the JSON Schema of its OpenAPI description.

Knows the words that the ad server's description uses, and fails at any other.
"""

import re
from datetime import datetime
from typing import Any

TYPES = {
    "object": dict, "array": list, "string": str, "integer": int, "number": (int, float),
    "null": type(None), "boolean": bool,
}  # fmt: skip
KNOWN = {
    "$ref", "additionalProperties", "anyOf", "const", "default", "description", "enum", "format",
    "items", "maxItems", "maxLength", "maximum", "minItems", "minLength", "minimum", "pattern",
    "properties", "required", "title", "type",
}  # fmt: skip


def faults(
    value: Any, schema: dict[str, Any], document: dict[str, Any], at: str = "$"
) -> list[str]:
    """What does not fit, a line each. An object's fields must all be described."""
    assert set(schema) <= KNOWN, f"the checker does not know {set(schema) - KNOWN}"
    if "$ref" in schema:
        found: Any = document
        for part in schema["$ref"].removeprefix("#/").split("/"):
            found = found[part]
        return faults(value, found, document, at)
    if "anyOf" in schema:
        tries = [faults(value, choice, document, at) for choice in schema["anyOf"]]
        return [] if [] in tries else [f"{at}: none of the choices: {tries}"]
    if not isinstance(value, TYPES[schema["type"]]):
        return [f"{at}: {value!r} is no {schema['type']}"]
    wrong = []
    if "enum" in schema and value not in schema["enum"]:
        wrong.append(f"{at}: {value!r} is none of {schema['enum']}")
    if "const" in schema and value != schema["const"]:
        wrong.append(f"{at}: {value!r} is not {schema['const']!r}")
    if "pattern" in schema and not re.search(schema["pattern"], value):
        wrong.append(f"{at}: {value!r} is not like {schema['pattern']}")
    if schema.get("format") == "date-time" and datetime.fromisoformat(value).tzinfo is None:
        wrong.append(f"{at}: {value!r} has no time zone")
    if isinstance(value, list):
        for number, item in enumerate(value):
            wrong += faults(item, schema["items"], document, f"{at}[{number}]")
    if isinstance(value, dict):
        fields = schema["properties"]
        wrong += [f"{at}.{name} is not described" for name in value if name not in fields]
        wrong += [
            f"{at}.{name} is missing" for name in schema.get("required", ()) if name not in value
        ]
        for name, field in value.items():
            if name in fields:
                wrong += faults(field, fields[name], document, f"{at}.{name}")
    return wrong

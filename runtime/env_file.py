"""The reader of the file `.env`, whose lines have the form NAME=value."""

import difflib
from collections.abc import Collection
from pathlib import Path


def read(path: Path, known: Collection[str], errors: list[str]) -> dict[str, str]:
    """Return the values of all valid lines by variable, and add a message to `errors` for each
    invalid line. `known` are the appliance's variables. Other variables are also returned, unless
    they look like misspelt variables of the appliance.
    """
    if not path.is_file():
        return {}
    try:
        lines = path.read_text("utf-8", "replace").splitlines()
    except OSError as error:
        errors.append(
            f"{path} cannot be read ({error.strerror}); fix: chmod u+r {path}, or remove the file"
        )
        return {}
    given: dict[str, str] = {}
    for number, line in enumerate(lines, start=1):
        line = line.strip()
        if not line or line.startswith("#"):
            continue
        name, equals, text = line.removeprefix("export ").partition("=")
        name = name.strip()
        if not equals or not name.isidentifier():
            errors.append(f"{path} line {number}: {line!r} is not of the form NAME=value")
            continue
        if name not in known and (meant := _meant(name, known)):
            errors.append(f"{path} line {number}: unknown variable {name}; did you mean {meant}?")
            continue
        given[name] = _unquoted(text)
    return given


def _meant(name: str, known: Collection[str]) -> str | None:
    # A name without its prefix also counts as a mistake.
    full = "DOORBUSTER_" + name.removeprefix("DOORBUSTER_")
    near = difflib.get_close_matches(full, known, 1, 0.94)
    return near[0] if near else None


def _unquoted(text: str) -> str:
    text = text.strip()
    if len(text) >= 2 and text[0] == text[-1] and text[0] in "'\"":
        return text[1:-1]
    return text.split(" #", 1)[0].strip()

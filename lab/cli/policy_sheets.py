"""The policies' data sheets as text, for the terminal and for docs/policies.md."""

import re
from collections.abc import Iterable, Mapping
from itertools import takewhile
from typing import Any, NamedTuple

from gateway.policies import ADMISSIONS, POLICIES, registry
from gateway.policies.sheet import Parameter, Sheet
from lab.baselines.sheets import PROXIES

INTRODUCTION = """\
# Policies

`make pages` writes this page from the code. Rules and parameters use paper seconds; times
quoted from a source are real seconds.

In the gateway, each run has a queueing policy, and an admission policy that decides about new
sessions. You can combine any queueing policy with any admission policy. A
[baseline proxy](baseline-proxies.md) replaces the gateway and both policies. To add a policy, see
[CONTRIBUTING.md](../CONTRIBUTING.md#add-a-policy).

The line *Deviations* names differences between a policy and its source; without this line, there
are none. To set a parameter that has a value for each page type, give a table, such as
`utility = {Tr-4 = 6000}`; a page type that you omit keeps its default. In the column *default
from*, *source* is the source above the table.
`.venv/bin/doorbuster policy list --json` also shows the allowed values.
"""

_PLAIN_UNITS = ("ratio", "number", "weight", "switch", "score", "class", "0 or 1")
"""The units that the page does not print after a number."""

_LONG_SOURCE = 3
"""If a parameter's source begins with at least this number of words of the policy's source, the
page prints *source* instead of these words."""


class Section(NamedTuple):
    """A titled list of data sheets, in the order in which they are printed."""

    title: str
    sheets: list[Sheet]


def sheets() -> list[Section]:
    return [
        Section("Queueing policies", [*map(registry.sheet, POLICIES)]),
        Section("Admission policies", [*map(registry.admission_sheet, ADMISSIONS)]),
        Section(
            "Baseline proxies in place of the gateway", [proxy.sheet for proxy in PROXIES.values()]
        ),
    ]


def as_text(known: Iterable[Section]) -> str:
    lines = []
    for section in known:
        lines += [section.title, "=" * len(section.title), ""]
        for sheet in section.sheets:
            lines += [sheet.name, f"    {sheet.idea}", f"    Rule: {sheet.rule}"]
            lines += [f"    Source: {sheet.source}", f"    Deviations: {sheet.deviations}"]
            lines += [
                f"      {parameter.name} = {_default(parameter)} ({parameter.unit}): "
                f"{parameter.meaning}"
                for parameter in sheet.parameters
            ]
            lines.append("")
    return "\n".join(lines)


def as_rows(known: Iterable[Section]) -> list[dict[str, Any]]:
    """Return the data sheets for programs. `kind` is the title of the section with the sheet."""
    return [
        {"kind": section.title, **sheet.as_dict()} for section in known for sheet in section.sheets
    ]


def as_markdown(known: Iterable[Section]) -> str:
    """Return the page docs/policies.md. If several policies of a section have the same parameter,
    the page describes it once, with the first of these policies.
    """
    parts = [INTRODUCTION]
    for section in known:
        parts.append(f"## {section.title}\n")
        earlier: list[tuple[Parameter, str]] = []
        for sheet in section.sheets:
            parts.append(f"### {sheet.name}\n\n{sheet.idea}\n")
            parts.append(f"- Rule: {_with_code(sheet)}")
            parts.append(f"- Source: {sheet.source}")
            if sheet.deviations != "none":
                parts.append(f"- Deviations: {sheet.deviations}")
            shared: dict[str, list[Parameter]] = {}
            new = []
            for parameter in sheet.parameters:
                if owner := next((name for one, name in earlier if one == parameter), ""):
                    shared.setdefault(owner, []).append(parameter)
                else:
                    new.append(parameter)
            earlier += [(parameter, sheet.name) for parameter in new]
            for owner, those in shared.items():
                names = ", ".join(map(_short, those))
                parts.append(f"- As in [{owner}](#{owner}): {names}")
            parts.append("")
            if new:
                parts += [*_table(new, sheet.source), ""]
    return "\n".join(parts)


def _with_code(sheet: Sheet) -> str:
    names = "|".join(parameter.name for parameter in sheet.parameters)
    return re.sub(rf"\b({names})\b", r"`\1`", sheet.rule) if names else sheet.rule


def _table(parameters: Iterable[Parameter], source: str) -> list[str]:
    return [
        "| parameter | default | meaning | default from |",
        "| --- | --- | --- | --- |",
        *(
            f"| `{parameter.name}` | {_with_unit(parameter)} | {parameter.meaning} | "
            f"{_without(source, parameter.source)} |"
            for parameter in parameters
        ),
    ]


def _short(parameter: Parameter) -> str:
    """Return the parameter's name with its default, or only the name if the default has a value for
    each page type."""
    if isinstance(parameter.default, Mapping):
        return f"`{parameter.name}`"
    return f"`{parameter.name}` ({_with_unit(parameter)})"


def _with_unit(parameter: Parameter) -> str:
    unit = "" if parameter.unit in _PLAIN_UNITS else f" {parameter.unit}"
    return _default(parameter) + unit


def _without(known: str, text: str) -> str:
    """Return `text`, with `source` in place of the words at its beginning that `known` also has at
    its beginning; unchanged if there are fewer than _LONG_SOURCE such words."""
    pairs = zip(known.split(", "), text.split(", "), strict=False)
    same = ", ".join(one for one, _ in takewhile(lambda pair: pair[0] == pair[1], pairs))
    if len(same.split()) < _LONG_SOURCE:
        return text
    return f"source{text.removeprefix(same)}"


def _default(parameter: Parameter) -> str:
    if isinstance(parameter.default, Mapping):
        return ", ".join(f"{page} {value:g}" for page, value in parameter.default.items())
    return f"{parameter.default:g}"

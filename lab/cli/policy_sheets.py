"""The policies' data sheets as text, for the terminal and for docs/policies.md."""

import re
from collections.abc import Iterable, Mapping
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
"""


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
    """Return the page docs/policies.md."""
    parts = [INTRODUCTION]
    for section in known:
        parts.append(f"## {section.title}\n")
        for sheet in section.sheets:
            parts.append(f"### {sheet.name}\n\n{sheet.idea}\n")
            parts.append(f"- Rule: {_with_code(sheet)}")
            parts.append(f"- Source: {sheet.source}")
            parts.append(f"- Deviations: {sheet.deviations}\n")
            if sheet.parameters:
                parts += [*_table(sheet.parameters), ""]
    return "\n".join(parts)


def _with_code(sheet: Sheet) -> str:
    names = "|".join(parameter.name for parameter in sheet.parameters)
    return re.sub(rf"\b({names})\b", r"`\1`", sheet.rule) if names else sheet.rule


def _table(parameters: Iterable[Parameter]) -> list[str]:
    return [
        "| parameter | default | unit | allowed | meaning | default from |",
        "| --- | --- | --- | --- | --- | --- |",
        *(
            f"| `{parameter.name}` | {_default(parameter)} | {parameter.unit} | "
            f"{parameter.allowed} | {parameter.meaning} | {parameter.source} |"
            for parameter in parameters
        ),
    ]


def _default(parameter: Parameter) -> str:
    if isinstance(parameter.default, Mapping):
        return ", ".join(f"{page} {value:g}" for page, value in parameter.default.items())
    return f"{parameter.default:g}"

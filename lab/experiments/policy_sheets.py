"""The policies' data sheets as text: for the terminal and for docs/policies.md.

Owns: how a sheet is written out. Must not know: what a policy does.
"""

from collections.abc import Iterable, Mapping

from gateway.policies.registry import ADMISSIONS, POLICIES
from gateway.policies.sheet import Parameter, Sheet

INTRODUCTION = """\
# Policies

Written by `doorbuster policies --markdown`; a test holds it to the code. Times are paper seconds.
First the queueing policies, then the admission policies, any of which may stand before any of them.
To add one, see [CONTRIBUTING.md](../CONTRIBUTING.md#add-a-policy).
"""


def sheets() -> list[Sheet]:
    """All sheets in the order of the registry: queueing policies, then admission policies."""
    return [sheet for sheet, _ in (*POLICIES.values(), *ADMISSIONS.values())]


def as_text(known: Iterable[Sheet]) -> str:
    """For a terminal."""
    lines = []
    for sheet in known:
        lines += [sheet.name, f"    {sheet.idea}", f"    Rule: {sheet.rule}"]
        lines += [f"    Source: {sheet.source}", f"    Deviations: {sheet.deviations}"]
        lines += [
            f"      {parameter.name} = {_default(parameter)} ({parameter.unit}): "
            f"{parameter.meaning}"
            for parameter in sheet.parameters
        ]
        lines.append("")
    return "\n".join(lines)


def as_markdown(known: Iterable[Sheet]) -> str:
    """The page docs/policies.md."""
    parts = [INTRODUCTION]
    for sheet in known:
        parts.append(f"## {sheet.name}\n\n{sheet.idea}\n")
        parts.append(f"- Rule: {sheet.rule}")
        parts.append(f"- Source: {sheet.source}")
        parts.append(f"- Deviations: {sheet.deviations}\n")
        if sheet.parameters:
            parts.append("| parameter | default | unit | allowed | meaning | default from |")
            parts.append("| --- | --- | --- | --- | --- | --- |")
        parts += [
            f"| `{parameter.name}` | {_default(parameter)} | {parameter.unit} | "
            f"{parameter.allowed} | {parameter.meaning} | {parameter.source} |"
            for parameter in sheet.parameters
        ]
        parts.append("")
    return "\n".join(parts)


def _default(parameter: Parameter) -> str:
    if isinstance(parameter.default, Mapping):
        return ", ".join(f"{page} {value:g}" for page, value in parameter.default.items())
    return f"{parameter.default:g}"

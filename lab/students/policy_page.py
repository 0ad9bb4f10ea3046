"""The page docs/policy-api.md, which explains every event and verdict of a policy with an example.

`policy_page.md.txt` has the text and the examples. Signatures, meanings and limits come from the
code. `make pages` writes the page; a test compares the page with the code and runs every example.
"""

import inspect
import re
import textwrap
from collections.abc import Iterator
from pathlib import Path
from string import Template
from typing import Any, Final, NamedTuple

from gateway.policies import interface
from gateway.policies.interface import Policy
from gateway.students import purity
from gateway.students.limits import IN_THE_GATEWAY, WITHOUT_CUSTOMERS

_TEXT: Final = Path(__file__).with_name("policy_page.md.txt").read_text(encoding="utf-8")
_ENTRY: Final = re.compile(r"^### (\w+)\n\n\$\1\n\n```python\n(.*?)\n```$", re.M | re.S)


class Entry(NamedTuple):
    """An entry of the page: an event, a verdict, or the request."""

    kind: str
    name: str
    signature: str
    meaning: str
    """The entry's Markdown text."""
    example: str


def entries() -> list[Entry]:
    """Return all entries of the page in order."""
    found = []
    for name, example in _ENTRY.findall(_TEXT):
        is_event = hasattr(Policy, name)
        kind = "Event" if is_event else "Request" if name == "Request" else "Verdict"
        what = getattr(Policy if is_event else interface, name)
        meaning = textwrap.dedent(inspect.getdoc(what) or "")
        found.append(Entry(kind, name, _signature(name, what), meaning, example))
    return found


def examples() -> dict[str, str]:
    """Return every example as complete code that can run."""
    preamble = _TEXT.partition("```python\n")[2].partition("```")[0]
    return {one.name: f"{preamble}\n{one.example}\n" for one in entries()}


def page() -> str:
    limits = IN_THE_GATEWAY
    told = {one.name: f"```python\n{one.signature}\n```\n\n{one.meaning}" for one in entries()}
    return Template(_TEXT).substitute(
        told,
        pages=", ".join(f"`{one}` ({one.name.lower()})" for one in interface.Page),
        outcomes="\n".join(_outcomes()),
        modules=", ".join(f"`{one}`" for one in purity.MODULES),
        decision_s=f"{limits.decision_s:g}",
        simulated_decision_s=f"{WITHOUT_CUSTOMERS.decision_s:g}",
        memory_mib=limits.memory_bytes // 2**20,
        share_percent=f"{100 * limits.share_ratio:g}",
        silence_s=f"{limits.silence_s:g}",
        waiting_most=f"{limits.waiting:,}",
        timers=limits.timers,
    )


def _signature(name: str, what: Any) -> str:
    if inspect.isclass(what):
        return f"{name}({', '.join(what._fields)})"  # type: ignore[attr-defined]  # a NamedTuple
    text = str(inspect.signature(what)).replace("self, ", "").replace("(self)", "()")
    for long in ("gateway.policies.interface.", "collections.abc."):
        text = text.replace(long, "")
    verdict = "Dispatch | Drop | Reject | Cancel"
    return f"{name}{text}".replace(f"Sequence[{verdict}]", "Verdicts").replace("'", "")


def _outcomes() -> Iterator[str]:
    for line in inspect.getsource(interface.Outcome).splitlines():
        name, equals, rest = line.strip().partition(" = ")
        if equals and name.isupper() and "#" in rest:
            yield f"* `{name}`: {rest.partition('#')[2].strip()}"

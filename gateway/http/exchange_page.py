"""The generator of the part of docs/gateway.md about a request's states: `python -m
gateway.http.exchange_page`.
"""

from pathlib import Path
from typing import Final

from gateway.http.exchange import TRANSITIONS, State

PAGE: Final = Path(__file__).parents[2] / "docs" / "gateway.md"
_BEGIN: Final = "<!-- states of a request: python -m gateway.http.exchange_page -->\n"
_END: Final = "<!-- end of the states -->\n"


def diagram() -> str:
    """Return a diagram of the states and a table of their meanings."""
    lines = ["```mermaid", "stateDiagram-v2"]
    lines += [f'    state "{state.value}" as {state.name}' for state in State]
    lines += [f"    [*] --> {State.RECEIVING.name}"]
    lines += [
        f"    {state.name} --> {following.name}: {event.value}"
        for state, events in TRANSITIONS.items()
        for event, following in events.items()
        if following is not state
    ]
    lines += ["```", "", "| state | what it means | what may happen → the state that follows |"]
    lines += ["| --- | --- | --- |"]
    for state, events in TRANSITIONS.items():
        moves = "; ".join(f"{event.value} → {after.value}" for event, after in events.items())
        lines.append(f"| {state.value} | {state.meaning} | {moves} |")
    return "\n".join(lines) + "\n"


def page(text: str) -> str:
    """Return docs/gateway.md with the generated part."""
    before, _, rest = text.partition(_BEGIN)
    _, _, after = rest.partition(_END)
    return f"{before}{_BEGIN}{diagram()}{_END}{after}"


if __name__ == "__main__":
    PAGE.write_text(page(PAGE.read_text(encoding="utf-8")), encoding="utf-8")

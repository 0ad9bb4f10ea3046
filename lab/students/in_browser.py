"""Check, run and compare a student's policy in a visitor's browser.

Only the browser's worker confines the policy, so a server must not use this module. This module and
its imports use only the standard library, because they run in Pyodide.
"""

import json
import re
import time
from collections.abc import Callable, Mapping
from typing import Any, Final, TypeVar

from gateway.plain_json import Most
from gateway.policies import PolicyError
from gateway.students import files, loaded, wire
from gateway.students.calls import Calls, MisbehavedError, PolicyFile, read, unfaulty
from gateway.students.limits import WITHOUT_CUSTOMERS
from gateway.students.stand_in import StandIn
from lab.intervals import estimate, paired
from lab.playground import experiment
from lab.playground.experiment import ChoiceError
from lab.students.validator import Finding, Place, check_file

RIVALS: Final = ("8q-lifo-pri", "door-lifo")
SEEDS: Final = (1, 2, 3, 4, 5)
"""The seeds of a comparison. The class's scoreboard uses the same seeds."""
_SLOWER: Final = 4.0
"""The approximate factor by which Python is slower in a browser than in a process."""
T = TypeVar("T")
Tell = Callable[[str], object]
"""A function that receives each part of an answer as JSON, as soon as it is known."""


class InBrowser(Calls):
    """Calls of a student's policy that runs in this process."""

    def __init__(self, file: PolicyFile) -> None:
        """Load the file; raises MisbehavedError if this fails."""
        self._loaded = loaded.Loaded(file.name, file.text)
        self._used_s = 0.0
        self.end = _nothing
        self.load(file)

    def begin(self, message: object, what: str, most: Most = wire.ABOUT_NONE) -> Any:
        return self._ask(message, most)

    def decision(self, message: object, what: str, reader: Callable[[object], T], most: Most) -> T:
        return read(reader, self._ask(message, most))

    def cpu_s(self) -> float:
        """Return the real seconds that the policy took, because a browser cannot measure CPU
        time."""
        return self._used_s

    def _ask(self, message: Any, most: Most) -> Any:
        message = json.loads(wire.packed(message)[wire.HEAD.size :])
        began_s = time.perf_counter()
        content = self._loaded.sheet() if message[0] == "load" else self._loaded.answer(message)
        self._used_s += time.perf_counter() - began_s
        try:
            return unfaulty(wire.unpacked(content[wire.HEAD.size :], most))
        except wire.WireError as fault:
            raise MisbehavedError(str(fault)) from None


def _nothing() -> None:
    """Do nothing, because the policy ends with the browser's worker."""


def _impurities(file: PolicyFile) -> list[str]:
    return wire.impurities_said(loaded.impurities(file.text))


_BROWSER: Final = Place(
    impurities=_impurities, accept=files.check_form, start=InBrowser, layers=None, slower=_SLOWER
)


def check(name: str, text: str, tell: Tell) -> None:
    """Report every finding of the check and then whether the policy is valid."""

    def told(finding: Finding) -> None:
        _tell(tell, finding={"check": finding.check, "holds": finding.holds, **_said(finding.says)})

    checked = check_file(PolicyFile(name, text), told, _BROWSER)
    _tell(tell, valid=checked.is_valid)


def run(name: str, text: str, choice: str, tell: Tell) -> None:
    """Run the policy with the choices in `choice` (JSON, as for `experiment.run`), and report the
    run or the fault.
    """
    try:
        _tell(tell, run=_run(_file(name, text), json.loads(choice)))
    except (ChoiceError, PolicyError, MisbehavedError) as fault:
        _tell(tell, fault=_said(_words(fault, name)))


def compare(name: str, text: str, choice: str, tell: Tell) -> None:
    """Run the policy and RIVALS with every seed; report the progress, and then the comparison.

    All policies have the same customers; differences are paired by seed.
    """
    chosen = json.loads(choice)
    ratios: dict[str, dict[int, float]] = {one: {} for one in ("", *RIVALS)}
    confirms = dict.fromkeys(ratios, 0)
    fallen_back = None
    try:
        file = _file(name, text)
        for seed in SEEDS:
            for policy in ratios:
                values = {**chosen, "seed": seed}
                if policy:
                    found = experiment.run({**values, "policy": policy})
                else:
                    found = _run(file, values)
                    fallen_back = fallen_back or found["fallen_back"]
                metrics = found["metrics"]
                ratios[policy][seed] = metrics["revenue_efficiency_ratio"] or 0.0
                confirms[policy] += metrics["confirms"]
                done = sum(map(len, ratios.values()))
                _tell(tell, progress={"done": done, "of": len(SEEDS) * len(ratios)})
    except (ChoiceError, PolicyError, MisbehavedError) as fault:
        _tell(tell, fault=_said(_words(fault, name)))
        return
    rows = []
    for policy, by_seed in ratios.items():
        difference = paired([ratios[""]], [by_seed]) if policy else None
        mean = estimate(list(by_seed.values()))
        rows.append(
            {
                "policy": policy,
                "confirms": confirms[policy],
                "efficiency": mean.text(2),
                "mean": mean.mean,
                "difference": difference.text(3) if difference else "",
                "is_better": bool(difference and difference.is_above_zero),
                "is_worse": bool(difference and difference.is_below_zero),
            }
        )
    _tell(tell, comparison={"rows": rows, "fallen_back": fallen_back})


def _file(name: str, text: str) -> PolicyFile:
    file = PolicyFile(name, text)
    files.check_form(file)
    if found := _impurities(file):
        raise PolicyError("policy", f"{name}: {found[0]}", "a pure policy")
    return file


def _run(file: PolicyFile, choice: Mapping[str, Any]) -> dict[str, Any]:
    """Return a run as `experiment.run` does, and whether FIFO replaced the policy."""
    calls = InBrowser(file)
    calls.make(calls.sheet.read({}))
    policy = StandIn(file.stem, calls, WITHOUT_CUSTOMERS)
    found = experiment.run(choice, policy)
    fallen = policy.fallen_back
    said = None if fallen is None else {"at_s": fallen.at_s, **_said(fallen.reason)}
    return {**found, "fallen_back": said}


def _words(fault: Exception, name: str) -> str:
    words = fault.message if isinstance(fault, PolicyError) else str(fault)
    return words.removeprefix(f"{name}: ")


def _said(words: str) -> dict[str, Any]:
    """Return a message, and the lines of the message that name a line of the file."""
    marks = []
    for one in words.splitlines():
        if found := re.search(r"\bline (\d+)", one):
            marks.append({"line": int(found[1]), "says": one})
    return {"says": words, "marks": marks}


def _tell(tell: Tell, **part: object) -> None:
    tell(json.dumps(part))

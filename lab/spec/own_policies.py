"""Keep the texts of an experiment's student policies in its result, in the tasks of its runs, and
in this process.
"""

from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

from gateway.policies import PolicyError, is_path
from gateway.students import files
from gateway.students.calls import PolicyFile
from lab.errors import SpecError
from lab.spec import text as spec_text
from lab.spec.experiment import Spec
from lab.spec.sections import PolicyChoice

COPIES = "policies"
"""The name of the folder of a result that holds the copies."""


def of_spec(spec: Spec) -> list[PolicyFile]:
    """Return the students' policies in a spec; raises SpecError if the text of a policy is lost."""
    return of_choices(spec.policy)


def of_choices(choices: Iterable[PolicyChoice]) -> list[PolicyFile]:
    """Return the students' policies among these choices; raises SpecError if the text of a policy
    is lost.
    """
    try:
        return [file for choice in choices if (file := choice.file) is not None]
    except PolicyError as fault:
        raise SpecError(fault.field, fault.message, allowed=fault.allowed) from None


def named_in(text: str) -> list[tuple[str, object]]:
    """Return the path, and the SHA-256 if given, of each student's policy that a TOML spec names.

    The list is empty if the spec is invalid; reading the spec reports the reason.
    """
    try:
        return named_by(spec_text.parse(text, ""))
    except SpecError:
        return []


def named_by(plain: Mapping[str, Any]) -> list[tuple[str, object]]:
    """Return the pairs that `named_in` returns, for the values of a parsed spec."""
    policies = plain.get("policy", [])
    if not isinstance(policies, list):
        return []
    return [
        (one["name"], one.get("sha256"))
        for one in policies
        if isinstance(one, dict) and is_path(one.get("name"))
    ]


def named_copies(own: Iterable[PolicyFile]) -> Mapping[str, str]:
    """Return the texts of policies by file name. If two policies differ but have the same name,
    they get different file names.
    """
    found: dict[str, str] = {}
    for file in own:
        name = f"{file.stem}.py"
        if found.get(name, file.text) != file.text:
            name = f"{file.stem}-{file.sha256[:8]}.py"
        found[name] = file.text
    return found


def remember(texts: Iterable[str]) -> None:
    """Store the texts of these policies in this process, because their files can change or
    disappear.
    """
    for text in texts:
        files.remember(PolicyFile("", text))


def remember_copies(folder: Path) -> None:
    """Keep the texts of the policies that were copied into a result, so that this process can run
    them. Skip files above the largest size of a policy.
    """
    for path in sorted((folder / COPIES).glob("*.py")):
        if path.is_file() and path.stat().st_size <= files.MOST_BYTES:
            remember([path.read_bytes().decode("utf-8")])  # line ends stay as they are

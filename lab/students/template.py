"""Create the files of a new policy and its test from templates, which work unchanged."""

import keyword
import re
import sys
from pathlib import Path

from gateway.policies import ADMISSIONS, POLICIES
from lab.errors import SpecError

_HERE = Path(__file__).parent


def policy_text(name: str) -> str:
    """Return the text of a new policy with this name; raises SpecError if the name is invalid."""
    return _filled("policy_template.py.txt", _module(name))


def write_policy(name: str, folder: Path) -> tuple[Path, Path]:
    """Write `quiet_door.py` and `test_quiet_door.py` to `folder` for `quiet-door`, and return both
    paths.

    Raises SpecError, without writing a file, if the name is invalid or in use.
    """
    module = _module(name)
    policy, test = folder / f"{module}.py", folder / f"test_{module}.py"
    for path in (policy, test):
        if path.exists():
            raise SpecError(
                "NAME", f"the file {path} exists and was not changed", allowed="another name"
            )
    try:
        folder.mkdir(parents=True, exist_ok=True)
        for path, source in ((policy, "policy_template.py.txt"), (test, "test_template.py.txt")):
            path.write_text(_filled(source, module), encoding="utf-8")
    except OSError as fault:
        raise SpecError("NAME", f"{fault.filename} cannot be written ({fault.strerror})") from None
    return policy, test


def _module(name: str) -> str:
    if not re.fullmatch(r"[a-z][a-z0-9]*([-_][a-z0-9]+)*", name) or len(name) > 40:
        raise SpecError(
            "NAME",
            f"{name!r:.60} is invalid",
            allowed="1 to 40 lower-case letters, digits and hyphens, beginning with a letter, "
            "for example quiet-door",
        )
    name, module = name.replace("_", "-"), name.replace("-", "_")
    taken = {*POLICIES, *ADMISSIONS, "haproxy", "nginx", "doorbuster"}
    if name in taken:
        raise SpecError("NAME", f"a policy named {name} exists already", allowed="another name")
    if keyword.iskeyword(module) or module in sys.stdlib_module_names or name.startswith("test-"):
        raise SpecError(
            "NAME",
            f"{name} is invalid",
            allowed="a name that does not begin with test- and is not a keyword or a standard "
            "module of Python",
        )
    return module


def _filled(source: str, module: str) -> str:
    name = module.replace("_", "-")
    words = {
        "@NAME@": name,
        "@MODULE@": module,
        "@TITLE@": name.replace("-", " ").capitalize(),
        "@CLASS@": "".join(part.capitalize() for part in name.split("-")),
    }
    text = (_HERE / source).read_text(encoding="utf-8")
    for word, meaning in words.items():
        text = text.replace(word, meaning)
    return text

"""The policies that forms offer: the registered policies, and the files in the folder of students'
policies. A form accepts no other paths, so no visitor can make the console read another file.
"""

from collections.abc import Iterable
from pathlib import Path

from gateway.policies import POLICIES, PolicyError, is_path, registry, stem
from gateway.policies.sheet import Sheet
from gateway.students import files, naming
from lab.console.site.allowances import Allowance, require
from lab.wording import title_of

FOLDER = Path(files.FOLDER)


def choices() -> list[tuple[str, str]]:
    """Return the name (or path) and the title of every policy. Each form calls this function, so
    the form also offers new files."""
    known = [(name, title_of(name)) for name in POLICIES]
    return known + [(path, f"{stem(path)} (own)") for path in own()]


def own() -> list[str]:
    return files.listed(FOLDER)


def sheet_of(name: str) -> Sheet | None:
    """Return a policy's data sheet; None if the policy is not offered or not valid now."""
    if name in POLICIES:
        return registry.sheet(name)
    if name not in own():
        return None
    try:
        return naming.sheet_of_file(files.read(name))
    except PolicyError:
        return None


def require_few(allowance: Allowance, names: Iterable[str | None]) -> None:
    """Raise AllowanceError if these names contain more own policies than one launch may have. A
    form calls this function before its spec is checked, because the check of the spec reads every
    policy file."""
    require(allowance, "own_policies_per_launch", len(set(filter(is_path, names))))

"""`python -m tests.language PATH…` lists findings; `--lower` lowers the ceilings of roots."""

import sys

from tests.language.covered import CEILINGS, CEILINGS_FILE, findings_below
from tests.language.passages import REPOSITORY


def main(arguments: list[str]) -> None:
    """Print the findings below each path, or write lower ceilings."""
    if arguments == ["--lower"]:
        lower()
        return
    for root in arguments:
        if not (REPOSITORY / root).exists():
            sys.exit(f"PATH: {root} is not here; allowed: a file or folder of the repository")
        print(*findings_below(root), sep="\n")


def lower() -> None:
    """Write the present number of findings of each root that has fewer than its ceiling."""
    lines = ["# Findings that a root may still have. A number may only fall."]
    for root, most in CEILINGS.items():
        lines.append(f'"{root}" = {min(most, len(findings_below(root)))}')
    CEILINGS_FILE.write_text("\n".join(lines) + "\n", encoding="utf-8")
    print(f"wrote {CEILINGS_FILE.relative_to(REPOSITORY)}")


if __name__ == "__main__":
    main(sys.argv[1:])

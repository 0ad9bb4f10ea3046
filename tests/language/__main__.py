"""`python -m tests.language PATH…` lists findings; `--lower` lowers the ceilings of roots.

`--sample N SEED` prints N sentences, drawn at random from all texts, for a reader to judge.
"""

import random
import sys

from tests.language.covered import (
    CEILINGS,
    CEILINGS_FILE,
    documents,
    findings_below,
    passages_below,
)
from tests.language.passages import REPOSITORY
from tests.language.rules import sentences, words

FEWEST_WORDS = 5
"""Words of a sentence that is worth reading in a sample."""


def main(arguments: list[str]) -> None:
    """Print the findings below each path, or a sample, or write lower ceilings."""
    match arguments:
        case ["--lower"]:
            lower()
            return
        case ["--sample", number, seed]:
            sample(int(number), int(seed))
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


def sample(number: int, seed: int) -> None:
    """Print sentences of documents, pages, messages and docstrings, each with its place."""
    roots = [*CEILINGS, *(str(path.relative_to(REPOSITORY)) for path in documents())]
    found = [
        (f"{passage.path}:{passage.line}", sentence)
        for root in roots
        for passage in passages_below(root)
        for sentence in sentences(passage.text)
        if words(sentence) >= FEWEST_WORDS
    ]
    for place, sentence in sorted(random.Random(seed).sample(sorted(found), number)):
        print(f"{place}: {sentence}")


if __name__ == "__main__":
    main(sys.argv[1:])

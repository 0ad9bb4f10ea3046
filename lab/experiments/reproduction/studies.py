"""The papers that can be reproduced, by name.

Owns: the list, and how often each is repeated by default. Must not know: what is in a study.
"""

from collections.abc import Callable
from dataclasses import dataclass

from lab.experiments.reproduction import (
    lifo_pri_cases,
    lifo_pri_study,
    sbac_cases,
    sbac_study,
)
from lab.experiments.reproduction.exhibits import Study


@dataclass(frozen=True, slots=True)
class Paper:
    """One paper: its study by scale, and the repetitions of each scale."""

    study: Callable[..., Study]
    """Called with `quick`."""
    repetitions: int
    quick_repetitions: int


PAPERS = {
    "lifo-pri": Paper(
        lifo_pri_study.study,
        lifo_pri_cases.whole().repetitions,
        lifo_pri_cases.quick().repetitions,
    ),
    "sbac": Paper(sbac_study.study, sbac_cases.whole().repetitions, sbac_cases.quick().repetitions),
}

"""The papers that can be reproduced, by name.

Owns: the list, how often each is repeated and on which engine by default.
Must not know: what is in a study.
"""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Literal

from lab.experiments.reproduction import (
    ad_server_cases,
    ad_server_study,
    connection_sentry_cases,
    connection_sentry_study,
    edragon_cases,
    edragon_study,
    lifo_pri_cases,
    lifo_pri_study,
    sbac_cases,
    sbac_study,
)
from lab.experiments.reproduction.exhibits import Study


@dataclass(frozen=True, slots=True)
class Paper:
    """One paper: its study by scale, and the repetitions of each scale by engine."""

    study: Callable[..., Study]
    """Called with `quick`."""
    repetitions: int
    quick_repetitions: int
    engine: Literal["simulated", "live"] = "simulated"
    """Where it is reproduced unless somebody says otherwise."""
    live_repetitions: int = 3
    live_quick_repetitions: int = 1
    simulated: bool = True
    """False: there is no simulator of its server."""

    def repetitions_of(self, engine: str, *, quick: bool) -> int:
        """How often each case is repeated unless somebody says otherwise."""
        if engine == "live":
            return self.live_quick_repetitions if quick else self.live_repetitions
        return self.quick_repetitions if quick else self.repetitions


_SENTRY = connection_sentry_cases.SCALES
_ADS = ad_server_cases.SCALES

PAPERS = {
    "lifo-pri": Paper(
        lifo_pri_study.study,
        lifo_pri_cases.whole().repetitions,
        lifo_pri_cases.quick().repetitions,
    ),
    "sbac": Paper(sbac_study.study, sbac_cases.whole().repetitions, sbac_cases.quick().repetitions),
    "connection-sentry": Paper(
        connection_sentry_study.study,
        _SENTRY["simulated"][False].repetitions,
        _SENTRY["simulated"][True].repetitions,
        engine="live",
        live_repetitions=_SENTRY["live"][False].repetitions,
        live_quick_repetitions=_SENTRY["live"][True].repetitions,
    ),
    "ad-server": Paper(
        ad_server_study.study,
        _ADS[False].repetitions,
        _ADS[True].repetitions,
        engine="live",
        live_repetitions=_ADS[False].repetitions,
        live_quick_repetitions=_ADS[True].repetitions,
        simulated=False,
    ),
    "edragon": Paper(
        edragon_study.study,
        edragon_cases.SIMULATED[False].repetitions,
        edragon_cases.SIMULATED[True].repetitions,
        live_repetitions=edragon_cases.LIVE_REPETITIONS[False],
        live_quick_repetitions=edragon_cases.LIVE_REPETITIONS[True],
    ),
}

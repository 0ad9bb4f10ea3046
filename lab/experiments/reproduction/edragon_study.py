"""The reproduction of eDragon: its figures, and what must hold of them.

Owns: the study, simulated and live, what its report says before and after the figures.
Must not know: how a claim is decided, how a run is made or drawn.
"""

from lab.experiments.reproduction import edragon_claims as claims
from lab.experiments.reproduction import edragon_zones as zones
from lab.experiments.reproduction.edragon_cases import SIMULATED, Cases
from lab.experiments.reproduction.edragon_figures import figures
from lab.experiments.reproduction.exhibits import Study


def study(*, quick: bool) -> Study:
    """The paper's platform of four processors, simulated."""
    return study_of(Cases(SIMULATED[quick]))


def study_of(cases: Cases) -> Study:
    """The figures, and what must hold of them, for the runs of `cases`."""
    return Study(
        paper="edragon",
        title="eDragon: connections told apart, processors shared out",
        summary=_summary(cases),
        exhibits=figures(cases),
        claims=claims.claims(cases),
        readings=_readings(cases),
    )


def _summary(cases: Cases) -> tuple[str, ...]:
    first = (
        f"{zones.PAPER['authors']}: {zones.PAPER['title']}. A front that tells new TLS connections "
        "from resumed ones, admits as many new ones as its processors can serve, and a CPU manager "
        "that shares the processors of the platform out."
    )
    if cases.engine == "live":
        return (
            first,
            f"Complete shops on {cases.scale.processors} processors of this machine at time scale "
            f"{cases.scale.live['time_scale']:g}, each with a TLS front of its own. Loads are on "
            f"the paper's scale: {zones.SATURATION_SESSIONS_PS:g} new sessions/s are what the "
            "platform serves, as profiled; published processors are in proportion. Load generator "
            "and database run on the same processors; what they took of them is below.",
        )
    return (
        first,
        f"Simulated: {cases.scale.processors} processors, the paper's costs of a handshake (175 "
        "and 2 ms) and of a session (1.33 s of CPU), its customers, and the very objects that "
        "decide in gateway and CPU manager.",
    )


def _readings(cases: Cases) -> tuple[tuple[str, str], ...]:
    course = cases.scale.course
    chosen = "; ".join(
        f"from {stretch.from_s:g} s {stretch.load[0]:g} and {stretch.load[1]:g}"
        for stretch in course.stretches
    )
    return (
        ("The schedule", f"New sessions/s of {' and '.join(zones.APPLICATIONS)}: {chosen}. Printed "
         f"are those of zones {' and '.join(zones.PRINTED_LOADS)}; the others are pictures. In A "
         "and C the sum is below 3 (“not overloaded”), in E it is above 8 (“completely "
         "overloaded”), in between the platform is slightly overloaded."),
        ("The axes of Figs. 4 to 8", "Up to 35 new sessions/s, as the figures' ticks say; 3 "
         "saturate the platform, from 8 on it is completely overloaded (section 5.2). The axis is "
         "logarithmic here, for most happens below 8."),
        ("Fully overloaded", f"The largest load, {cases.scale.loads[-1]:g} new sessions/s."),
        ("Throughput", "HTTP replies/s, pages and images. A reply that comes after the timeout "
         "of 10 s is none."),
        ("Sessions timed out", "After a timeout a customer comes back once over a new connection "
         "(resuming the TLS session if there was one); the second timeout ends the session. The "
         "paper says that the connection is discarded, and that resumed ones exist."),
        ("Over a zone", "Means of the whole zone, its beginning included."),
    )  # fmt: skip

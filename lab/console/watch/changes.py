"""Changes of the shop while it runs. Each function returns what the page reports afterwards."""

from collections.abc import Callable

from django.utils import timezone

from lab.console.site.settings import LAB
from lab.console.watch.live_run import under_way
from lab.engines.live.appliance import Appliance
from lab.errors import ExperimentError

CHANGE_WITHOUT_RUN = "No run is under way: the next run sets its own."
SHADOW_WITHOUT_RUN = "No run is under way: it sees only visitors, and ends when a run begins."


def change(
    action: Callable[[Appliance], object],
    *,
    done: str = "Applied",
    without_run: str = CHANGE_WITHOUT_RUN,
) -> str:
    """Change the appliance and return the time, and `without_run` if no run is under way.

    Raises ExperimentError with the reason if the change is not possible.
    """
    going = under_way()
    if going is not None and going.beside:
        raise ExperimentError("Several shops run at once: each keeps what it is there to show.")
    if going is not None and going.run is not None and going.run.proxy_file.is_file():
        raise ExperimentError(
            "A baseline proxy stands in the gateway's place: it keeps what it began with."
        )
    appliance = Appliance(LAB)
    try:
        action(appliance)
    finally:
        appliance.close()
    words = f"{done} at {timezone.localtime():%H:%M:%S}."
    has_run = going is not None and going.run is not None
    return words if has_run or not without_run else f"{words} {without_run}"


def change_load(factor: float) -> str:
    """Change the rate of arriving customers, and return the time.

    Raises ExperimentError with the reason if the change is not possible.
    """
    going = under_way()
    if going is None or going.run is None or going.planned is None:
        raise ExperimentError("No run is under way: nobody arrives.")
    if going.planned.rho is None:
        raise ExperimentError("This run is a closed loop: it has no arrivals to change.")
    going.set_load_factor(factor)
    return f"Applied at {timezone.localtime():%H:%M:%S}."

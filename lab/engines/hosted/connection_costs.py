"""The costs of a connection on this machine, as eDragon's static profiling defines them.

The stored costs become invalid if the machine or the code changes. Source: eDragon, sections 3.2.1
(CTO, CTN) and 3.2 (handshakes of 175 and 2 ms).
"""

from dataclasses import asdict, dataclass
from pathlib import Path

from lab.errors import ExperimentError
from lab.files.documents import read_json, write_json
from lab.machine.description import fingerprint
from runtime.settings import Settings

COMMAND = "doorbuster profile-connections"


@dataclass(frozen=True, slots=True)
class ConnectionCosts:
    """The CPU time of an application's gateway and shops, in paper seconds: real CPU seconds × time
    scale. PostgreSQL, Redis and the customers are not included.
    """

    cto_s: float
    """The cost of a resumed connection: its handshake and all its replies, including their
    encryption."""
    ctn_s: float
    """The cost of a new connection: its handshake and all its replies, including their
    encryption.
    """
    handshake_full_s: float
    handshake_resumed_s: float
    reply_s: float
    """The cost of one page or image, including its encryption."""
    session_s: float
    """The cost of a whole session: all its connections and replies."""
    replies_per_new: float
    replies_per_resumed: float
    resumed_per_session: float
    sessions: int
    key: str
    profile: str
    time_scale: float
    interactions_mean: float
    machine: str
    measured_at: str

    @property
    def handshake_ratio(self) -> float:
        """The full handshake's share of a session's CPU time; in the paper 0.175 s of 1.33 s."""
        return self.handshake_full_s / self.session_s


def keep(costs: ConnectionCosts, lab: Settings) -> Path:
    """Write the costs to the appliance's state folder; return the file."""
    path = _file(lab, costs.key, costs.profile, costs.time_scale)
    write_json(path, asdict(costs))
    return path


def kept(lab: Settings, *, key: str, profile: str, time_scale: float) -> ConnectionCosts:
    """Return this machine's costs; raises ExperimentError if no valid costs are stored."""
    path = _file(lab, key, profile, time_scale)
    again = f"`{COMMAND} --key {key} --page-profile {profile} --time-scale {time_scale:g}`"
    if not path.is_file():
        raise ExperimentError(
            f"The costs of connections with {key}, page profile {profile}, at time scale "
            f"{time_scale:g} have not been measured; measure them with {again}."
        )
    try:
        costs = ConnectionCosts(**read_json(path))
    except TypeError as fault:
        raise ExperimentError(f"{path}: {fault}; measure again with {again}.") from None
    if costs.machine != fingerprint(lab):
        raise ExperimentError(
            f"The costs of connections were measured at {costs.measured_at}. This machine (CPUs, "
            "kernel, memory, Python or workers) or the code of the shop, the gateway or the "
            f"customers has changed since then; measure again with {again}."
        )
    return costs


def _file(lab: Settings, key: str, profile: str, time_scale: float) -> Path:
    return lab.state_dir / f"connections-{key}-{profile}-{time_scale:g}.json"

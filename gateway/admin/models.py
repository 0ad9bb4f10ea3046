"""The fields of the admin API's calls and answers: their names, types, limits and meanings."""

from typing import Annotated, Any, Final, Literal

from pydantic import Field, RootModel
from pydantic.json_schema import SkipJsonSchema

from common.http_api import Body, Query, Reply
from gateway.plain_json import Most
from gateway.policies import (
    NO_ADMISSION,
    Abandonment,
    PolicyError,
    is_path,
)
from gateway.policies.interface import FATES, Page
from gateway.queues.policy_choice import PolicyChoice
from gateway.shadow.shadows import MOST as MOST_SHADOWS
from gateway.students import files

SMALL: Final = Most(32 * 1024, 1_000)
"""The limits on the body of a call that cannot contain a file: bytes and values."""
ONE_POLICY: Final = Most(SMALL.size_bytes + 6 * files.MOST_BYTES, SMALL.values)
"""The limits on the body of a call that may contain a file. In JSON, a byte of the file may take
six bytes (`\\u0009`).
"""
ALL_SHADOWS: Final = Most(MOST_SHADOWS * ONE_POLICY.size_bytes, MOST_SHADOWS * SMALL.values)

_Parameters = Annotated[
    dict[str, Any],
    Field(
        description="a JSON object of the policy's parameters; an omitted parameter has its "
        "default value"
    ),
]


# ---- calls ---------------------------------------------------------------------------------------


class WantedAdmission(Body):
    """The admission policy that a call requests."""

    name: str = Field(description="the name of an admission policy")
    parameters: _Parameters = Field(default_factory=dict)


class WantedPolicy(Body):
    """The policy that a call requests."""

    name: str = Field(
        description="the name of a policy, or the path of a policy's file; a path ends in .py"
    )
    parameters: _Parameters = Field(default_factory=dict)
    admission: WantedAdmission = Field(
        WantedAdmission(name=NO_ADMISSION),
        description="the admission policy, which decides about new sessions",
    )
    source: str | SkipJsonSchema[None] = Field(None, description="text of the policy's file")

    @property
    def is_own(self) -> bool:
        """Whether the policy is in a student's file, which must be read and run."""
        return is_path(self.name)

    def choose(self) -> PolicyChoice:
        """Return the choice of policies in the call; raise PolicyError if it is invalid."""
        admission = self.admission
        return PolicyChoice.of(
            self.name, self.parameters, admission.name, admission.parameters, self.source
        )

    @staticmethod
    def field_of(error: PolicyError) -> str:
        """Return the call's field to which the error belongs."""
        if error.field.startswith("admission_"):
            return error.field.replace("_", ".", 1)
        return {"policy": "name", "admission": "admission.name"}.get(error.field, error.field)


class WantedShadows(Body):
    """The shadows that a call requests; all other shadows end."""

    policies: list[WantedPolicy] = Field(
        max_length=MOST_SHADOWS,
        description=f"a list of at most {MOST_SHADOWS} policies; a listed shadow that already "
        "runs continues",
    )


class WantedConnectionAdmission(Body):
    """The requested admission policy for TLS connections."""

    name: str = Field(description="the name of an admission policy for TLS connections")
    parameters: _Parameters = Field(default_factory=dict)

    @staticmethod
    def field_of(error: PolicyError) -> str:
        """Return the call's field to which the error belongs."""
        field = error.field.removeprefix("connection_admission_")
        return "name" if field == "connection_admission" else field


class WantedSettings(Body):
    """The settings that a call changes; omitted settings stay as they are."""

    time_scale: Annotated[float, Field(ge=0.001, le=1000)] | SkipJsonSchema[None] = Field(
        None, description="paper seconds per real second"
    )
    utilisation_interval_s: Annotated[float, Field(ge=0.01, le=3600)] | SkipJsonSchema[None] = (
        Field(None, description="interval between samples of the shop's load, in paper seconds")
    )
    abandonment: Abandonment | SkipJsonSchema[None] = Field(
        None, description="treatment of requests whose customers leave"
    )


class WaitingQuery(Query):
    """The parameters of the call that lists waiting requests."""

    limit: int = Field(200, ge=1, le=1000, description="maximum number of listed requests")


# ---- answers -------------------------------------------------------------------------------------


class Health(Reply):
    """The answer that shows whether the gateway serves requests."""

    status: Literal["ok", "draining"] = Field(
        description="`draining` while the gateway finishes its last requests"
    )


class AdmissionInForce(Reply):
    """An admission policy, with the values of all its parameters."""

    name: str = Field(description="the name of the admission policy")
    parameters: dict[str, Any] = Field(description="the values of all its parameters")


class DescribedPolicy(Reply):
    """A policy, with the values of all its parameters."""

    name: str = Field(
        description="the policy's name; for a student's policy, the file's name without `.py`"
    )
    file: str | None = Field(None, description="the path of a student's policy")
    sha256: str | None = Field(None, description="SHA-256 digest of the file of a student's policy")
    confinement: dict[str, str] | None = Field(
        None, description="the layers that confine a student's policy"
    )
    parameters: dict[str, Any] = Field(description="the values of all its parameters")
    admission: AdmissionInForce = Field(
        description="the admission policy, which decides about new sessions"
    )


class PolicyInForce(DescribedPolicy):
    """The policy in force, and its state."""

    snapshot: dict[str, Any] = Field(description="the state that the policy reports")


class ConnectionAdmissionInForce(AdmissionInForce):
    """The admission policy for TLS connections that is in force, and its state."""

    snapshot: dict[str, Any] = Field(description="the state that the policy reports")


_Asked = Annotated[int, Field(description="number of requests on which both policies decided")]
_AgreesRatio = Annotated[
    float | None,
    Field(description="share of these requests with the same decision; null if `asked` is 0"),
]
_EarlierS = Annotated[
    float | None,
    Field(
        description="mean time by which the shadow was earlier (verdict `earlier`), in paper "
        "seconds"
    ),
]
_LaterS = Annotated[
    float | None,
    Field(
        description="mean time by which the shadow was later (verdict `later`), in paper seconds"
    ),
]


class Agreement(Reply):
    """The comparison of a shadow's decisions with the acting policy's decisions. A mean is null if
    there are no values.
    """

    asked: _Asked
    agrees_ratio: _AgreesRatio
    verdicts: dict[str, int] = Field(
        description="`same`, `earlier`, `later`, `would_refuse`, `would_serve`, `would_lose`, "
        "`absent` → number of requests"
    )
    earlier_s: _EarlierS
    later_s: _LaterS


class ShadowFigures(Reply):
    """The metrics of a shadow; after a failure, `waiting` and `in_service` are null."""

    name: str = Field(description="name of the shadow, unique among the shadows")
    policy: DescribedPolicy = Field(description="the shadow's policy")
    fault: str = Field(description="reason why the shadow failed; empty while it runs")
    waiting: int | None = Field(description="requests that wait in the shadow's simulated gateway")
    in_service: int | None = Field(description="requests in service in the shadow's simulated shop")
    since_s: float = Field(
        0.0,
        description="time at which the counts began, in paper seconds: the start of the shadow, or "
        "the latest switch of the acting policy",
    )
    asked: _Asked = 0
    agrees_ratio: _AgreesRatio = None
    verdicts: dict[str, int] = Field(
        default_factory=dict, description="verdict → number of requests, over all page types"
    )
    earlier_s: _EarlierS = None
    later_s: _LaterS = None
    pages: dict[str, Agreement] = Field(
        default_factory=dict, description="page type → comparison of the decisions"
    )


class Decision(Reply):
    """A policy's decision about a request."""

    kind: str = Field(description="`served`, `refused` or `left`")
    after_s: float = Field(
        description="time from the request's arrival to the decision, in paper seconds"
    )
    waiting: int = Field(description="number of waiting requests at that time")
    reason: str = Field(description="reason why the request was refused; otherwise empty")


class Disagreement(Reply):
    """A request on which the shadow and the acting policy decided differently."""

    id: int = Field(description="id of the request")
    page: str = Field(description="page type")
    is_new: bool = Field(description="whether the request began a new session")
    attempt: int = Field(description="number of the attempt, from 1")
    arrived_s: float = Field(description="time of the arrival, in paper seconds")
    verdict: str = Field(description="result of the comparison, a key of `verdicts`")
    acted: Decision = Field(description="the acting policy's decision")
    said: Decision = Field(description="the shadow's decision")


class Shadow(ShadowFigures):
    """A shadow, with its latest disagreements."""

    disagreements: list[Disagreement] = Field(description="the newest first")


class Shadows(Reply):
    """All shadows with their latest disagreements."""

    time_s: float = Field(description="paper time")
    shadows: list[Shadow] = Field(
        description="the shadows in the order in which calls requested them"
    )


class WaitingRequests(Reply):
    """The requests that have waited longest in the policy's queues."""

    time_s: float = Field(description="paper time")
    waiting: int = Field(description="number of all waiting requests")
    requests: list[tuple[int, str, float, bool]] = Field(
        description="the oldest requests in order of arrival: id, page type, wait in paper "
        "seconds, and whether the customer has left"
    )


class Load(Reply):
    """The latest sample of the shop's load; unknown values are null."""

    cpu_utilisation_ratio: float | None = Field(
        description="share of the interval in which the shop's processors were busy"
    )
    busy_workers: int | None = Field(
        description="workers of the shop that served a request at the end of the interval"
    )
    interval_s: float | None = Field(description="time that the sample covers, in paper seconds")
    age_s: float | None = Field(description="age of the sample, in paper seconds")
    utilisation_interval_s: float = Field(description="interval between samples, in paper seconds")
    samples: int = Field(description="successful samples since the gateway started")
    failures: int = Field(description="failed samples since the gateway started")
    error: str | None = Field(
        description="reason why the latest sample failed or the policy could not handle it; before "
        "the first attempt, a note that there is no sample yet; otherwise null"
    )
    status: dict[str, Any] | None = Field(
        description="the complete answer of the shop's controller"
    )


class Abandonments(Reply):
    """Counts of the requests whose customers have left since the gateway started."""

    mode: Abandonment = Field(description="the treatment in force")
    left_waiting: int = Field(description="requests whose customers left while the requests waited")
    withdrawn: int = Field(
        description="requests out of `left_waiting` that the gateway took out of the queue"
    )
    left_in_service: int = Field(
        description="served requests whose customers left during the service or before it"
    )
    cancelled: int = Field(description="requests that were stopped in service")
    finished: int = Field(
        description="requests out of `left_in_service` that were served to the end (orphan "
        "requests)"
    )
    overdue: int = Field(
        description="requests that the shop did not end within `cancel_s`, although no answer was "
        "wanted"
    )


class Bypass(Reply):
    """The numbers of requests in a bypass; no policy decides about these requests."""

    in_service: int = Field(description="requests in service")
    waiting: int = Field(description="waiting requests")


class Connections(Reply):
    """The numbers of open connections, and of TLS connections since the gateway started."""

    customers: int = Field(description="open connections of customers")
    shop: int = Field(description="open connections to the shop and the ad server")
    new: int = Field(description="TLS connections classified as new")
    resumed: int = Field(description="TLS connections classified as resumed")
    accepted_new: int = Field(description="new TLS connections that were accepted")
    refused: int = Field(description="new TLS connections that were refused")
    handshake_failed: int = Field(description="TLS handshakes that failed")
    handshake_timed_out: int = Field(description="TLS handshakes that took too long")
    evicted: int = Field(
        description="handshakes that waited for their customers, and were reset to free their "
        "places for new handshakes"
    )
    turned_away: int = Field(
        description="connections that were reset because no place for a handshake was free"
    )
    under_way: int = Field(description="TLS handshakes in progress")
    admission: ConnectionAdmissionInForce = Field(
        description="the admission policy for TLS connections"
    )


class CpuManager(Reply):
    """The gateway's registration with the CPU manager; unknown numbers are null."""

    application: str = Field(description="name of the registered application")
    priority: float = Field(description="priority of the application")
    process: int = Field(description="id of the process whose process tree is bound to processors")
    connected: bool = Field(description="whether the connection to the CPU manager is open")
    registrations: int = Field(description="number of registrations since the gateway started")
    requested: float | None = Field(description="number of requested processors")
    assigned: float | None = Field(description="number of assigned processors")
    processors: list[int] | None = Field(description="ids of the assigned processors")
    error: str | None = Field(
        description="latest fault of the connection; null once the manager assigns processors"
    )


class Snapshot(Reply):
    """The state of the whole gateway at one moment."""

    time_s: float = Field(description="paper time")
    policy: PolicyInForce = Field(description="the policy in force")
    shadows: list[ShadowFigures] = Field(description="the metrics of each shadow")
    workers: int = Field(
        description="maximum number of requests for the eight pages that can be in service"
    )
    in_service: int = Field(description="requests for the eight pages that are in service")
    waiting: int = Field(description="requests for the eight pages that wait in a queue")
    waiting_by_page: dict[Page, int] = Field(description="page type → requests")
    counts: dict[str, dict[str, int]] = Field(
        description=f"page type, `other` or `ads` → {', '.join(f'`{fate}`' for fate in FATES)} → "
        "number of requests since the gateway started"
    )
    abandonment: Abandonments = Field(description="requests whose customers left")
    time_scale: float = Field(description="paper seconds per real second")
    load: Load = Field(description="the latest sample of the shop's load")
    other: Bypass = Field(description="requests for neither the eight pages nor the ad server")
    ads: Bypass | None = Field(None, description="requests for the ad server, if there is one")
    connections: Connections = Field(description="open connections, and counts of TLS connections")
    cpu_manager: CpuManager | None = Field(
        description="the registration with the CPU manager; null without one"
    )
    refusals: dict[str, int] = Field(
        description="status → number of the gateway's own answers with this status"
    )
    traced_ratio: float = Field(description="share of requests whose traces are exported")
    is_draining: bool = Field(
        description="whether the gateway is finishing its last requests before it stops"
    )


class Parameter(Reply):
    """A parameter of a policy."""

    name: str = Field(description="name of the parameter")
    default: float | dict[str, float] = Field(
        description="default value, or one for each page type"
    )
    unit: str = Field(description="unit of the value")
    meaning: str = Field(description="effect of the parameter")
    source: str = Field(description="the source of the default value")
    low: float = Field(description="smallest allowed number")
    high: float = Field(description="largest allowed number")
    allowed: str = Field(description="description of the allowed values")


class Sheet(Reply):
    """A policy's data sheet."""

    name: str = Field(description="name of the policy")
    title: str = Field(description="name as the source spells it; if empty, pages show `name`")
    idea: str = Field(description="the idea in one or two sentences")
    rule: str = Field(description="the exact rule, with names of parameters")
    source: str = Field(description="the source of the policy: paper, section, equation")
    deviations: str = Field(description="differences from the source")
    parameters: list[Parameter] = Field(description="the parameters")
    needs_sessions: bool = Field(description="whether the policy uses sessions")


class Sheets(RootModel[list[Sheet]]):
    """The data sheets of all policies of one kind."""


class Settings(Reply):
    """The settings in force."""

    time_scale: float = Field(description="paper seconds per real second")
    utilisation_interval_s: float = Field(
        description="interval between samples of the shop's load, in paper seconds"
    )
    abandonment: Abandonment = Field(description="treatment of requests whose customers leave")

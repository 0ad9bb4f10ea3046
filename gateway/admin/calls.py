"""The calls of the admin API, and the OpenAPI document that describes them."""

from functools import cache
from typing import Any, Final

from common import http_api
from common.http_api import Api, Call
from gateway.admin import models

_OVERTAKEN: Final = "a later call has already taken effect"
_FULL: Final = "too many students' files are already being read"

HEALTH: Final = Call(
    "GET",
    "/health",
    "Show whether the gateway serves requests",
    models.Health,
    other_answers={503: models.Health},
    is_open=True,
)
METRICS: Final = Call(
    "GET", "/metrics", "Show the metrics for Prometheus", "text/plain", is_open=True
)
OPENAPI: Final = Call(
    "GET", "/openapi.json", "Show this description of the API", "application/json"
)
SNAPSHOT: Final = Call("GET", "/snapshot", "Show the whole state of the gateway", models.Snapshot)
WAITING: Final = Call(
    "GET",
    "/waiting",
    "List the oldest waiting requests",
    models.WaitingRequests,
    query=models.WaitingQuery,
)
POLICIES: Final = Call("GET", "/policies", "List all queueing policies", models.Sheets)
ADMISSIONS: Final = Call("GET", "/admissions", "List all admission policies", models.Sheets)
CONNECTION_ADMISSIONS: Final = Call(
    "GET",
    "/connection-admissions",
    "List all admission policies for TLS connections",
    models.Sheets,
)
SWITCH_POLICY: Final = Call(
    "PUT",
    "/policy",
    "Switch the policy without losing a request",
    models.PolicyInForce,
    models.WantedPolicy,
    refusals={409: _OVERTAKEN, 503: _FULL},
)
SHADOWS: Final = Call(
    "GET",
    "/shadows",
    "Show the shadows, with their metrics and latest disagreements",
    models.Shadows,
)
REPLACE_SHADOWS: Final = Call(
    "PUT",
    "/shadows",
    "Run exactly these shadows next to the acting policy",
    models.Shadows,
    models.WantedShadows,
    refusals={409: _OVERTAKEN, 503: _FULL},
)
ADD_SHADOW: Final = Call(
    "POST",
    "/shadows",
    "Run one more shadow",
    models.Shadows,
    models.WantedPolicy,
    refusals={
        409: f"the shadow runs already, there are too many shadows, or {_OVERTAKEN}",
        503: _FULL,
    },
)
REMOVE_SHADOW: Final = Call(
    "DELETE",
    "/shadows/{name}",
    "Remove one shadow",
    models.Shadows,
    refusals={404: "no shadow has this name"},
    parameter="the `name` of a shadow, from the answer to `GET /shadows`",
)
SWITCH_CONNECTION_ADMISSION: Final = Call(
    "PUT",
    "/connection-admission",
    "Switch the admission policy for TLS connections",
    models.ConnectionAdmissionInForce,
    models.WantedConnectionAdmission,
)
CHANGE_SETTINGS: Final = Call(
    "PUT",
    "/settings",
    "Change the time scale, the interval of load samples and the treatment of requests whose "
    "customers leave",
    models.Settings,
    models.WantedSettings,
)

CALLS: Final = (
    HEALTH,
    SNAPSHOT,
    WAITING,
    POLICIES,
    ADMISSIONS,
    CONNECTION_ADMISSIONS,
    SWITCH_POLICY,
    SHADOWS,
    REPLACE_SHADOWS,
    ADD_SHADOW,
    REMOVE_SHADOW,
    SWITCH_CONNECTION_ADMISSION,
    CHANGE_SETTINGS,
    METRICS,
    OPENAPI,
)


@cache
def document() -> dict[str, Any]:
    """Return the OpenAPI document of the admin API."""
    return http_api.document(
        Api(
            "Doorbuster gateway: admin API",
            "These calls show the gateway's state and change its settings while it runs.",
            refusals_of_bodies={
                413: "the body is too large",
                415: "the body is not sent as application/json",
            },
        ),
        CALLS,
    )

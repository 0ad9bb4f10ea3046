"""The calls of the shop's controller, with their bodies, answers and OpenAPI document."""

from functools import cache
from typing import Annotated, Any, Final, Literal

from pydantic import Field
from pydantic.json_schema import SkipJsonSchema

from common import http_api
from common.http_api import Api, Body, Call, Reply
from common.shared_settings import LONGEST_FAULT_S, Books
from shop.page_costs.page_work import Profile
from shop.sentry import Mode

_TimeScale = Annotated[float, Field(ge=0.1, le=1000)]
_Seed = Annotated[int, Field(ge=0, le=2**63 - 1)]


class WantedSettings(Body):
    """The settings that a call changes; omitted settings keep their values."""

    profile: Profile | SkipJsonSchema[None] = Field(
        None, description="the profile of [page work](shop.md#page-work)"
    )
    time_scale: _TimeScale | SkipJsonSchema[None] = Field(
        None, description="paper seconds per real second"
    )
    seed: _Seed | SkipJsonSchema[None] = Field(
        None, description="seed of the times that page work draws"
    )
    sentry: Mode | SkipJsonSchema[None] = Field(
        None, description="the [sentry's mode](sentry.md#the-wasted-work-meter)"
    )
    ads: bool | SkipJsonSchema[None] = Field(
        None, description="whether pages show [banners](shop.md#banners)"
    )


class WantedCatalogue(Body):
    """The number of books that the catalogue should have."""

    books: Books = Field(
        description="number of books, with the ids from 1 to this number "
        "([the catalogue](shop.md#the-catalogue))"
    )


class WantedSlowness(Body):
    """The duration of the fault that makes the database slow."""

    for_s: float = Field(
        ge=0,
        le=LONGEST_FAULT_S,
        description="duration in paper seconds, but at most 300 real seconds; 0 ends the fault",
    )


class Health(Reply):
    """The answer of a shop that is ready to serve."""

    status: Literal["ok"] = Field(description="always this word")


class Settings(Reply):
    """The settings in force."""

    profile: Profile = Field(description="the profile of page work")
    time_scale: float = Field(description="paper seconds per real second")
    seed: int = Field(description="the seed of the random execution times")
    sentry: Mode = Field(description="the mode of the sentry")
    ads: bool = Field(description="whether pages show banners")


class LostTo(Reply):
    """The number of requests answered with 503, for each back end that was unavailable."""

    postgres: int = Field(description="requests lost because PostgreSQL was unavailable")
    redis: int = Field(description="requests lost because Redis was unavailable")


class Slowness(Reply):
    """The fault that makes the database slow: each query of a page waits one more paper second."""

    left_s: float = Field(description="paper seconds until the fault ends; 0 if there is no fault")
    times: int = Field(
        description="number of times that a call has begun the fault since the shop started"
    )


class Page(Reply):
    """The counts of the served pages of one type since the shop started; times are real seconds."""

    served: int = Field(description="number of pages")
    cpu_s: float = Field(description="CPU time of the pages")
    execution_s: float = Field(description="execution time of the pages, including waits")
    drawn_s: float = Field(description="execution time that page work drew for the pages")
    own_cpu_s: float = Field(description="CPU time of the pages, not counting page work")
    own_wait_s: float = Field(
        description="time that the pages waited for PostgreSQL and Redis; under profile `paper`, "
        "only the part that counts towards the drawn time"
    )
    queries: int = Field(description="number of database queries")


class Sentry(Reply):
    """The counts of the [wasted-work meter](sentry.md#the-wasted-work-meter) since the shop
    started.
    """

    watching: int = Field(description="requests in progress that the sentry watches")
    disconnects: int = Field(description="clients that left while their request was in progress")
    interrupted: int = Field(description="requests that were stopped after their client had left")
    finished: int = Field(description="requests that ran to their end after their client had left")
    cancels_attempted: int = Field(description="running queries that the sentry tried to cancel")
    cancels_effective: int = Field(description="queries that ended because of the cancel")
    cancels_too_late: int = Field(description="queries that ended before the cancel")
    cancels_failed: int = Field(
        description="queries whose cancel the database did not confirm in time"
    )
    wasted_cpu_s: float = Field(
        description="CPU seconds that requests used after their client had left; cancelling can "
        "save them"
    )
    wasted_database_s: float = Field(
        description="database seconds that requests used after their client had left; cancelling "
        "can save them"
    )
    kept_cpu_s: float = Field(
        description="CPU seconds after the client had left, used by requests that had to finish"
    )
    kept_database_s: float = Field(
        description="database seconds after the client had left, used by requests that had to "
        "finish"
    )
    unanswered_cpu_s: float = Field(
        description="CPU seconds that requests used before their client left without an answer"
    )
    unanswered_database_s: float = Field(
        description="database seconds that requests used before their client left without an answer"
    )


class Status(Reply):
    """The load of the shop, and its counts since its start."""

    time_s: float = Field(description="the shop's monotonic clock, in real seconds")
    cpu_s: float = Field(description="CPU seconds used by the shop's process")
    cpus: float = Field(description="number of CPUs that the shop can use")
    workers: int = Field(description="number of threads that serve requests")
    busy_workers: int = Field(description="number of these threads that serve a request now")
    requests: int = Field(description="requests of any kind that reached the shop")
    orders: int = Field(description="committed orders")
    lost_to: LostTo = Field(description="requests that failed because a back end was unavailable")
    redis_away: int = Field(
        description="number of times that Redis did not answer or had lost its data; sessions "
        "were then read from PostgreSQL"
    )
    slow_database: Slowness = Field(description="the fault of a slow database")
    books: int = Field(description="number of books in the catalogue")
    pages: dict[str, Page] = Field(description="the counts of each page type")
    sentry: Sentry = Field(description="the counts of the wasted-work meter")
    settings: Settings = Field(description="the settings in force")


class Catalogue(Reply):
    """The size of the catalogue after the change."""

    books: int = Field(description="number of books")


class Reset(Reply):
    """The number of orders that the call removed; their books are back in stock."""

    orders_removed: int = Field(description="number of orders")


class Orders(Reply):
    """The totals of all orders in the database."""

    orders: int = Field(description="number of orders")
    books_sold: int = Field(description="number of copies sold")
    revenue: float = Field(description="total price in the shop's currency")


HEALTH: Final = Call(
    "GET", "/health", "Show whether the shop is ready to serve", Health, is_open=True
)
STATUS: Final = Call("GET", "/status", "Show the shop's load and counts", Status)
CHANGE_SETTINGS: Final = Call(
    "PUT",
    "/settings",
    "Change the settings of page work, sentry and banners",
    Settings,
    WantedSettings,
)
SLOW_DATABASE: Final = Call(
    "PUT", "/slow-database", "Make the database slow for a limited time", Slowness, WantedSlowness
)
RESIZE_CATALOGUE: Final = Call(
    "PUT", "/catalogue", "Grow or shrink the catalogue", Catalogue, WantedCatalogue
)
RESET: Final = Call(
    "POST", "/reset", "Remove the orders of seeded accounts and restock their books", Reset
)
ORDERS: Final = Call("GET", "/orders", "Count the orders", Orders)
METRICS: Final = Call(
    "GET", "/metrics", "Show the metrics for Prometheus", "text/plain", is_open=True
)
OPENAPI: Final = Call(
    "GET", "/openapi.json", "Show this description of the API", "application/json"
)

CALLS: Final = (
    HEALTH,
    STATUS,
    CHANGE_SETTINGS,
    SLOW_DATABASE,
    RESIZE_CATALOGUE,
    RESET,
    ORDERS,
    METRICS,
    OPENAPI,
)


@cache
def document() -> dict[str, Any]:
    """Return the OpenAPI document of the controller."""
    return http_api.document(
        Api(
            "Doorbuster shop: controller",
            "These calls show the shop's load and change its settings for a run.",
        ),
        CALLS,
    )

"""The schemas of the HTTP API, as pydantic models for checks, refusals and the OpenAPI document."""

from datetime import datetime
from typing import TYPE_CHECKING, Annotated, Literal

from pydantic import AfterValidator, AwareDatetime, BeforeValidator, Field
from pydantic.json_schema import SkipJsonSchema

from common.http_api import Body, Query, Refusal, Reply
from shop.ads.inventory import MOST_CONCEPTS, SIZES
from shop.ads.models import CONCEPT, MOST_IMPRESSIONS

MOST_SLOTS = 8
MOST_WANTED_CONCEPTS = 16

if TYPE_CHECKING:
    SizeName = str
else:
    SizeName = Literal[tuple(SIZES)]
_WORDS = "each at most 40 lower-case letters and digits, with single hyphens between them"
Word = Annotated[str, Field(pattern=CONCEPT, max_length=40)]
Text = Annotated[str, AfterValidator(lambda text: _printable(text))]
Line = Annotated[Text, Field(min_length=1)]


Time = Annotated[
    AwareDatetime, Field(strict=False), AfterValidator(lambda time: _within_reach(time))
]
_YEARS = (2000, 2200)


def _within_reach(time: datetime) -> datetime:
    if not _YEARS[0] < time.year < _YEARS[1]:  # in any zone
        raise ValueError(f"must be after the year {_YEARS[0]} and before {_YEARS[1]}")
    return time


def _printable(text: str) -> str:
    if not text.isprintable() or text != text.strip():
        raise ValueError(
            "must be one line of printable text, without a space at the beginning or the end"
        )
    return text


class CandidatesQuery(Query):
    """A request for the banners that a slot could show."""

    size: SizeName = Field(description="width x height, in pixels")
    concepts: Annotated[
        list[Word],
        BeforeValidator(lambda text: text.split(",") if isinstance(text, str) else text),
    ] = Field(
        min_length=1,
        max_length=MOST_WANTED_CONCEPTS,
        description=f"1 to {MOST_WANTED_CONCEPTS} known concepts, separated by commas, {_WORDS}",
    )


class SelectQuery(CandidatesQuery):
    """A request for the banners of one page."""

    slots: int = Field(ge=1, le=MOST_SLOTS, description="number of slots to fill on the page")
    priority: int = Field(0, ge=0, description="priority level of the request; 0 is the lowest")
    publisher: Text = Field(
        "", max_length=80, description="the name of the publisher whose page shows the banners"
    )
    page: Text = Field("", max_length=80, description="the name of one of the publisher's pages")


class ContractsQuery(Query):
    """A request for a part of the list of contracts."""

    after: int = Field(0, ge=0, le=10**18, description="list only contracts with a higher id")


class ClickQuery(Query):
    """The parameters of a click, which may name the page that showed the banner."""

    page: Annotated[int, Field(ge=0)] | SkipJsonSchema[None] = Field(
        None, description="id of the publisher's page that showed the banner"
    )


class NotBeside(Body):
    """The banners and advertisers that a banner excludes from its page."""

    banners: list[int] = Field(
        default=[], max_length=100, description="at most 100 ids of existing banners"
    )
    advertisers: list[Line] = Field(
        default=[], max_length=100, description="at most 100 names of existing advertisers"
    )


class NewBanner(Body):
    """The banner of a new contract."""

    size: SizeName = Field(description="width x height, in pixels")
    headline: Line = Field(max_length=40, description="a line of 1 to 40 characters")
    text: Text = Field("", max_length=60, description="a line of at most 60 characters")
    target: str = Field(
        "/",
        max_length=200,
        pattern=r"^/(?:[!-.0-\[\]-~][!-~]*)?$",
        description="a path of the site that shows the banner, like /browse/crime/",
    )
    concepts: list[Word] = Field(
        min_length=1,
        max_length=MOST_CONCEPTS,
        description=f"1 to {MOST_CONCEPTS} known concepts, {_WORDS}",
    )
    not_beside: NotBeside = Field(
        default=NotBeside(), description="an object with `banners` and `advertisers`"
    )


class NewContract(Body):
    """A new contract for impressions of a banner, from `starts` until just before `ends`."""

    advertiser: Line = Field(max_length=80, description="a name of 1 to 80 characters")
    impressions: int = Field(
        ge=1, le=MOST_IMPRESSIONS, description="number of times that the banner is to be shown"
    )
    starts: Time = Field(description="a time with its time zone, like 2026-11-21T00:00:00Z")
    ends: Time = Field(
        description="a time with its time zone, later than `starts` and in the future"
    )
    banner: NewBanner = Field(
        description="an object with the fields " + ", ".join(NewBanner.model_fields)
    )


class Candidate(Reply):
    """A banner that the ad server could draw for a slot now."""

    id: int
    alt: str
    concepts: list[str]
    contracted: int
    weight: int


class Candidates(Reply):
    """The banners that the ad server could draw for a slot now, the largest weight first; `total`
    is the sum of the weights.
    """

    total: int
    candidates: list[Candidate]


class PlacedBanner(Reply):
    """A banner placed in a slot of the page."""

    id: int
    image: str
    click: str
    width: int
    height: int
    alt: str = Field(
        description="the text on the picture; a page must add that this is an advertisement"
    )


class Selection(Reply):
    """The banners for the slots, at most one per slot; their impressions have been counted."""

    banners: list[PlacedBanner]


class Banner(Reply):
    """A contracted banner."""

    id: int
    size: SizeName
    headline: str
    text: str
    target: str
    concepts: list[str]
    not_beside: NotBeside


class Contract(Reply):
    """An accepted contract."""

    id: int
    advertiser: str
    impressions: int
    starts: datetime
    ends: datetime
    accepted: datetime
    banner: Banner


class Contracts(Reply):
    """A part of the list of contracts."""

    contracts: list[Contract]
    next: str | None = Field(description="the URL of the next part of the list; null at its end")


class Report(Reply):
    """The delivery of a contract, as the server processes have reported it."""

    contract: int
    impressions: int
    delivered: int
    due: int = Field(description="impressions that an even delivery would have reached by now")
    pace: float | None = Field(description="delivered / due; null while no impression is due")
    clicks: int
    click_rate: float | None = Field(
        description="clicks / delivered; null before the first delivery"
    )


class Publisher(Reply):
    """A site that shows banners on its pages."""

    id: int
    name: str
    pages: int


class Publishers(Reply):
    """The list of all publishers."""

    publishers: list[Publisher]


class PageReport(Reply):
    """The counts of a publisher's page, as the server processes have reported them."""

    id: int
    name: str
    views_per_day: int = Field(description="forecast")
    slots: int
    impressions: int = Field(description="impressions of requests that named the page")
    clicks: int
    click_rate: float | None = Field(description="clicks / impressions; null without an impression")


class PublisherReport(Reply):
    """The counts of a publisher: the totals, and the counts of each page."""

    publisher: int
    name: str
    impressions: int
    clicks: int
    click_rate: float | None = Field(description="clicks / impressions; null without an impression")
    pages: list[PageReport]


class CapacityRefusal(Refusal):
    """The refusal of a contract that wants more impressions than are free."""

    wanted: int
    forecast: int
    held: int
    left: int


class Health(Reply):
    """The answer of a process that is ready to serve."""

    status: Literal["ok"]
    banners: int
    reports_failed: int = Field(
        description="exchanges with the database that failed since the last success"
    )

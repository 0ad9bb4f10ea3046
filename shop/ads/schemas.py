"""What the HTTP API takes and answers, as pydantic models: checks, refusals and OpenAPI are of one.

Owns: names, types and limits of fields. Must not know: what is done with them.
"""

from datetime import datetime
from typing import TYPE_CHECKING, Annotated, Any, Literal

from pydantic import (
    AfterValidator,
    AwareDatetime,
    BaseModel,
    BeforeValidator,
    ConfigDict,
    Field,
    ValidationError,
)
from pydantic_core import ErrorDetails

from shop.ads.inventory import MOST_CONCEPTS
from shop.ads.models import CONCEPT, MOST_IMPRESSIONS
from shop.ads.sizes import SIZES

MOST_SLOTS = 8
MOST_WANTED_CONCEPTS = 16

if TYPE_CHECKING:
    SizeName = str
else:
    SizeName = Literal[tuple(SIZES)]
_WORDS = "each at most 40 lower-case letters, digits and hyphens"
Word = Annotated[str, Field(pattern=CONCEPT, max_length=40)]
Text = Annotated[str, AfterValidator(lambda text: _printable(text))]
Line = Annotated[Text, Field(min_length=1)]


Time = Annotated[AwareDatetime, AfterValidator(lambda time: _within_reach(time))]
_YEARS = (2000, 2200)


def _within_reach(time: datetime) -> datetime:
    if not _YEARS[0] < time.year < _YEARS[1]:  # in any zone
        raise ValueError(f"must be between the years {_YEARS[0]} and {_YEARS[1]}")
    return time


def _printable(text: str) -> str:
    if not text.isprintable() or text != text.strip():
        raise ValueError("must be one line of printable text without spaces around it")
    return text


class Refused(ValueError):  # noqa: N818
    """Input that a call cannot take; names the field and says what is allowed."""

    def __init__(self, field: str, error: str, allowed: str) -> None:
        super().__init__(f"{field}: {error}")
        self.field = field
        self.allowed = allowed


class _Input(BaseModel):
    model_config = ConfigDict(extra="forbid", frozen=True)


class CandidatesQuery(_Input):
    """The banners that one slot could show."""

    size: SizeName = Field(description="one of " + ", ".join(SIZES))
    concepts: Annotated[
        list[Word],
        BeforeValidator(lambda text: text.split(",") if isinstance(text, str) else text),
    ] = Field(
        min_length=1,
        max_length=MOST_WANTED_CONCEPTS,
        description=f"1 to {MOST_WANTED_CONCEPTS} known concepts, commas between them, {_WORDS}",
    )


class SelectQuery(CandidatesQuery):
    """The banners of one page."""

    slots: int = Field(ge=1, le=MOST_SLOTS, description=f"a whole number from 1 to {MOST_SLOTS}")
    priority: int = Field(0, ge=0, description="a level of this server, from 0, the lowest")
    publisher: Text = Field(
        "", max_length=80, description="the name of a publisher, to count on its page"
    )
    page: Text = Field("", max_length=80, description="the name of one of the publisher's pages")


class NotBeside(_Input):
    """What must not stand on the same page."""

    banners: list[Annotated[int, Field(strict=True)]] = Field(
        default=[], max_length=100, description="at most 100 ids of banners there are"
    )
    advertisers: list[Line] = Field(
        default=[], max_length=100, description="at most 100 names of advertisers there are"
    )


class NewBanner(_Input):
    """What is shown."""

    size: SizeName = Field(description="one of " + ", ".join(SIZES))
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
        default=NotBeside(), description="an object of banners and advertisers"
    )


class NewContract(_Input):
    """An advertiser buys impressions of a banner from `starts` to before `ends`."""

    advertiser: Line = Field(max_length=80, description="a name of 1 to 80 characters")
    impressions: int = Field(
        strict=True,
        ge=1,
        le=MOST_IMPRESSIONS,
        description=f"a whole number from 1 to {MOST_IMPRESSIONS}",
    )
    starts: Time = Field(description="a time with its zone, like 2026-11-21T00:00:00Z")
    ends: Time = Field(description="a time with its zone, later than starts and than now")
    banner: NewBanner = Field(
        description="an object of the fields " + ", ".join(NewBanner.model_fields)
    )


class Candidate(BaseModel):
    """A banner that could be drawn now."""

    id: int
    alt: str
    concepts: list[str]
    contracted: int
    weight: int


class Candidates(BaseModel):
    """All banners that could be drawn for a slot now, the heaviest first."""

    total: int
    candidates: list[Candidate]


class PlacedBanner(BaseModel):
    """A banner for a slot of the page."""

    id: int
    image: str
    click: str
    width: int
    height: int
    alt: str = Field(description="what the image says; not that it is an advertisement")


class Selection(BaseModel):
    """As many banners as could be placed, at most one per slot; their impressions are counted."""

    banners: list[PlacedBanner]


class Banner(BaseModel):
    """A contracted banner."""

    id: int
    size: SizeName
    headline: str
    text: str
    target: str
    concepts: list[str]
    not_beside: NotBeside


class Contract(BaseModel):
    """An accepted contract."""

    id: int
    advertiser: str
    impressions: int
    starts: datetime
    ends: datetime
    accepted: datetime
    banner: Banner


class Contracts(BaseModel):
    """A page of the list of contracts."""

    contracts: list[Contract]
    next: str | None = Field(description="where the list goes on")


class Report(BaseModel):
    """How a contract does, as the servers have reported it."""

    contract: int
    impressions: int
    delivered: int
    due: int = Field(description="impressions of an even delivery until now")
    pace: float | None = Field(description="delivered / due; null before the first is due")
    clicks: int
    click_rate: float | None = Field(description="clicks / delivered; null before a delivery")


class Publisher(BaseModel):
    """A site that places banners on its pages."""

    id: int
    name: str
    pages: int


class Publishers(BaseModel):
    """All of them."""

    publishers: list[Publisher]


class PageReport(BaseModel):
    """What was shown in the slots of a page, as the servers have reported it."""

    id: int
    name: str
    views_per_day: int = Field(description="forecast")
    slots: int
    impressions: int = Field(description="of requests that named the page")
    clicks: int
    click_rate: float | None = Field(description="clicks / impressions; null before the first")


class PublisherReport(BaseModel):
    """How effective a publisher's pages are, together and one by one."""

    publisher: int
    name: str
    impressions: int
    clicks: int
    click_rate: float | None = Field(description="clicks / impressions; null before the first")
    pages: list[PageReport]


class Refusal(BaseModel):
    """Why a call was not done. Nothing has been stored."""

    error: str
    field: str | None = None
    allowed: str | None = None


class CapacityRefusal(Refusal):
    """Fewer impressions are left than wanted."""

    wanted: int
    forecast: int
    held: int
    left: int


class Health(BaseModel):
    """This process answers."""

    status: Literal["ok"]
    banners: int
    reports_failed: int = Field(description="reports in a row that the database did not take")


def read(model: type[_Input], value: Any) -> Any:
    """`value` as that model. Raises Refused with the first fault."""
    try:
        return model.model_validate(value)
    except ValidationError as error:
        fault = error.errors()[0]
        path = [part for part in fault["loc"] if isinstance(part, str)]
        allowed = _allowed(model, path)
        raise Refused(".".join(path) or "body", _said(fault, allowed), allowed) from error


def _said(fault: ErrorDetails, allowed: str) -> str:
    """A fault in words: pydantic's own would show people patterns and types."""
    match fault["type"]:
        case "missing":
            return "is missing"
        case "extra_forbidden":
            return "is not known"
        case "value_error":  # of a check in this module
            return str(fault["ctx"]["error"])
        case _:
            return f"must be {allowed}"


def _allowed(model: type[BaseModel], path: list[str]) -> str:
    """The description of the field at `path`, or the fields there are."""
    for name in path:
        field = model.model_fields.get(name)
        if field is None:
            break
        inner = field.annotation
        if isinstance(inner, type) and issubclass(inner, BaseModel) and name != path[-1]:
            model = inner
            continue
        return field.description or ""
    return "an object of the fields " + ", ".join(model.model_fields)

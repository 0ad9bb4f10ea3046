"""The ad server's tables: advertisers, banners, contracts, publishers' slots, and deliveries.

Each change that running server processes must read has a number, its `revision`. A transaction that
takes the next number locks the row of `State` until its end, so numbers become visible in order.
"""

import uuid
from datetime import timedelta
from typing import Any

from django.core.exceptions import ValidationError
from django.core.validators import (
    MaxValueValidator,
    MinValueValidator,
    RegexValidator,
)
from django.db import connection, models, transaction
from django.utils import timezone

from shop.ads import capacity
from shop.ads.inventory import MOST_CONCEPTS, SIZES

MOST_IMPRESSIONS = 1_000_000_000
CONCEPT = r"^[a-z0-9]+(-[a-z0-9]+)*$"
_SIZES = [(name, name) for name in SIZES]


class State(models.Model):
    """The table of the latest revision; the first migration creates its only row."""

    revision = models.BigIntegerField(default=0)


def next_revision() -> int:
    """Take and return the next revision; other calls wait until this transaction has ended."""
    with connection.cursor() as cursor:
        cursor.execute("UPDATE ads_state SET revision = revision + 1 RETURNING revision")
        return int(cursor.fetchone()[0])


class _Revised(models.Model):
    class Meta:
        abstract = True

    def save(self, *args: Any, **kwargs: Any) -> None:
        with transaction.atomic():
            revision = next_revision()
            super().save(*args, **kwargs)
            self._mark(revision)

    def _mark(self, revision: int) -> None:
        """Give the revision to the contracts that this change concerns; by default, it concerns
        none.
        """


class _Named(_Revised):
    name = models.CharField(max_length=80, unique=True)

    class Meta:
        abstract = True
        ordering = ("name",)

    def __str__(self) -> str:
        return self.name


class Concept(_Revised):
    """A keyword that banners and slots can have."""

    word = models.CharField(
        max_length=40,
        unique=True,
        validators=[
            RegexValidator(
                CONCEPT, "Must be lower-case letters and digits, with single hyphens between them."
            )
        ],
    )

    class Meta:
        ordering = ("word",)

    def __str__(self) -> str:
        return self.word


class Advertiser(_Named):
    """A company that orders banners."""

    def _mark(self, revision: int) -> None:
        Contract.objects.filter(banner__advertiser=self).update(revision=revision)


class Publisher(_Named):
    """A site that shows banners on its pages."""


class Page(_Revised):
    """A publisher's page, with a forecast of its views per day."""

    publisher = models.ForeignKey(Publisher, on_delete=models.PROTECT, related_name="pages")
    name = models.CharField(max_length=80)
    views_per_day = models.PositiveBigIntegerField(help_text="forecast")

    class Meta:
        ordering = ("publisher", "name")
        constraints = (
            models.UniqueConstraint(fields=["publisher", "name"], name="page_of_publisher"),
        )

    def __str__(self) -> str:
        return f"{self.publisher}: {self.name}"


class Slot(_Revised):
    """A place for a single banner on a publisher's page."""

    page = models.ForeignKey(Page, on_delete=models.CASCADE, related_name="slots")
    name = models.CharField(max_length=40)
    size = models.CharField(max_length=10, choices=_SIZES)
    concepts = models.ManyToManyField(
        Concept,
        related_name="slots",
        blank=True,
        help_text="for capacity checks, which ignore a slot without concepts",
    )

    class Meta:
        ordering = ("page", "name")
        constraints = (models.UniqueConstraint(fields=["page", "name"], name="slot_of_page"),)

    def __str__(self) -> str:
        return f"{self.page}, {self.name} ({self.size})"


class Banner(_Revised):
    """A picture with a text, which pages show while its contract runs."""

    advertiser = models.ForeignKey(Advertiser, on_delete=models.PROTECT, related_name="banners")
    size = models.CharField(max_length=10, choices=_SIZES)
    headline = models.CharField(max_length=40)
    text = models.CharField(max_length=60, blank=True)
    target = models.CharField(
        max_length=200,
        default="/",
        validators=[
            RegexValidator(r"^/(?![/\\])[!-~]*\Z", "Must be a path of the site, like /browse/.")
        ],
        help_text="the link on the banner's landing page: a path of the site that shows the banner",
    )
    concepts = models.ManyToManyField(Concept, related_name="banners")
    not_beside_banners = models.ManyToManyField("self", blank=True, symmetrical=True)
    not_beside_advertisers = models.ManyToManyField(Advertiser, blank=True, related_name="+")

    class Meta:
        ordering = ("pk",)

    def __str__(self) -> str:
        return f"{self.pk}: {self.headline} ({self.size})"

    def _mark(self, revision: int) -> None:
        Contract.objects.filter(banner=self).update(revision=revision)


class Contract(models.Model):
    """An advertiser's order for impressions of a banner, from `starts` until just before `ends`."""

    banner = models.OneToOneField(Banner, on_delete=models.PROTECT, related_name="contract")
    impressions = models.PositiveIntegerField(
        validators=[MinValueValidator(1), MaxValueValidator(MOST_IMPRESSIONS)]
    )
    starts = models.DateTimeField()
    ends = models.DateTimeField()
    accepted = models.DateTimeField(default=timezone.now, editable=False)
    renews = models.BooleanField(
        default=False,
        editable=False,
        help_text="the contract is renewed at the same rate, like the seeded contracts",
    )
    revision = models.BigIntegerField(editable=False, db_index=True)

    class Meta:
        ordering = ("pk",)
        constraints = (
            models.CheckConstraint(
                condition=models.Q(ends__gt=models.F("starts")),
                name="contract_ends_after_it_starts",
                violation_error_message="The end must be after the start.",
            ),
            models.CheckConstraint(
                condition=models.Q(impressions__gte=1), name="contract_of_at_least_one"
            ),
        )

    def __str__(self) -> str:
        return f"{self.pk}: {self.impressions:,} impressions of {self.banner_id}"

    def clean(self) -> None:
        """Raise ValidationError if the end is not after the start, and NoCapacity if too few
        impressions are free.
        """
        if None in (self.banner_id, self.impressions, self.starts, self.ends):
            return  # a field is invalid
        if self.ends <= self.starts:
            raise ValidationError({"ends": "The end must be after the start."})
        next_revision()  # no other contract is accepted until this transaction has ended
        capacity.check(self)

    def save(self, *args: Any, **kwargs: Any) -> None:
        with transaction.atomic():
            self.revision = next_revision()
            super().save(*args, **kwargs)
            Delivery.objects.get_or_create(
                banner_id=self.banner_id, defaults={"revision": self.revision}
            )

    def end(self) -> None:
        """End the contract now, unless it has ended.

        A contract that has not begun moves into the past, so that it holds no impressions.
        """
        now = timezone.now()
        if self.ends > now:
            self.starts = min(self.starts, now - timedelta(seconds=1))
            self.ends = now
            self.renews = False
            self.save(update_fields=["starts", "ends", "renews", "revision"])


class Delivery(models.Model):
    """The impressions and clicks of a contracted banner, as the server processes have reported
    them.
    """

    banner = models.OneToOneField(Banner, on_delete=models.PROTECT, primary_key=True)
    delivered = models.BigIntegerField(default=0)
    clicks = models.BigIntegerField(default=0)
    revision = models.BigIntegerField(db_index=True)

    class Meta:
        verbose_name_plural = "deliveries"

    def __str__(self) -> str:
        return f"{self.banner_id}: {self.delivered:,} delivered, {self.clicks:,} clicked"


class Placement(models.Model):
    """The impressions and clicks of a publisher's page, as the processes have reported them."""

    page = models.OneToOneField(
        Page, on_delete=models.CASCADE, primary_key=True, related_name="placement"
    )
    impressions = models.BigIntegerField(default=0)
    clicks = models.BigIntegerField(default=0)

    def __str__(self) -> str:
        return f"{self.page_id}: {self.impressions:,} shown, {self.clicks:,} clicked"


class Server(models.Model):
    """A server process that reports deliveries.

    `sequence` is the number of its last report, so that no report is added twice.
    """

    id = models.UUIDField(primary_key=True, default=uuid.uuid4)
    sequence = models.BigIntegerField(default=0)
    started = models.DateTimeField(default=timezone.now)
    reported = models.DateTimeField(null=True)

    class Meta:
        ordering = ("-started",)

    def __str__(self) -> str:
        return f"{self.id}, report {self.sequence}"


class Seed(models.Model):
    """The table with one row: the fingerprint of the seeded inventory."""

    fingerprint = models.CharField(max_length=64)


def check_concepts(concepts: list[Concept]) -> None:
    """Raise ValidationError if a banner cannot have this number of concepts."""
    if not 1 <= len(concepts) <= MOST_CONCEPTS:
        raise ValidationError({"concepts": f"A banner must have 1 to {MOST_CONCEPTS} concepts."})

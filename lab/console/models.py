"""The tables of the console's database: launches and their order, notes, work on lessons, and
tokens. Results are not in the database. Each result is a folder (`lab.results.result`)."""

import secrets
from typing import Any

from django.conf import settings
from django.db import models
from django.utils import timezone


class State(models.TextChoices):
    """The state of a launch."""

    QUEUED = "queued", "waiting"
    RUNNING = "running", "running"
    DONE = "done", "done"
    CANCELLED = "cancelled", "cancelled"
    INTERRUPTED = "interrupted", "interrupted"
    FAILED = "failed", "failed"


ENDED = (State.DONE, State.CANCELLED, State.INTERRUPTED, State.FAILED)


def new_id() -> str:
    """Return a random id that is short enough to read aloud."""
    return secrets.token_hex(5)


class Launch(models.Model):
    """One launched experiment. All durations are in real seconds."""

    id = models.CharField(primary_key=True, max_length=16, default=new_id)
    title = models.CharField(max_length=200)
    engine = models.CharField(max_length=10)
    spec = models.TextField(blank=True, help_text="TOML; empty for a reproduction")
    arguments = models.JSONField(default=list, help_text="of the command `doorbuster`")
    state = models.CharField(max_length=12, choices=State, default=State.QUEUED, db_index=True)
    place = models.BigIntegerField(default=0, db_index=True)
    asked_at = models.DateTimeField(default=timezone.now)
    began_at = models.DateTimeField(null=True)
    ended_at = models.DateTimeField(null=True)
    expected_s = models.FloatField(default=0)
    done_ratio = models.FloatField(default=0)
    words = models.CharField(max_length=300, blank=True)
    result = models.CharField(max_length=200, blank=True, help_text="name of its folder")
    reason = models.TextField(blank=True)
    cancel_asked = models.BooleanField(default=False)
    gives_way = models.BooleanField(default=False)
    process = models.IntegerField(null=True)
    process_began = models.FloatField(null=True)
    by = models.CharField(max_length=150, blank=True)

    class Meta:
        ordering = ("place", "asked_at")

    def __str__(self) -> str:
        return f"{self.title} ({self.state})"

    def save(self, *args: Any, **more: Any) -> None:
        if not self.place:
            last = Launch.objects.aggregate(last=models.Max("place"))["last"] or 0
            self.place = max(0, last) + 1  # places below 0 are those of launches put first
        super().save(*args, **more)

    @property
    def is_live(self) -> bool:
        """Whether the launch is live. Only one live launch can run on a machine at a time."""
        return self.engine == "live"

    @property
    def has_ended(self) -> bool:
        return self.state in ENDED

    @property
    def took_s(self) -> float | None:
        """The launch's duration in real seconds; None if it never began or has not ended."""
        if self.began_at is None or self.ended_at is None:
            return None
        return (self.ended_at - self.began_at).total_seconds()


MOST_NOTE_CHARACTERS = 10_000


class Note(models.Model):
    """A user's note on a result."""

    result = models.CharField(max_length=200, db_index=True)
    text = models.TextField(max_length=MOST_NOTE_CHARACTERS)
    by = models.CharField(max_length=150, blank=True)
    at = models.DateTimeField(default=timezone.now)

    class Meta:
        ordering = ("at",)

    def __str__(self) -> str:
        return self.text[:60]


MOST_ANSWER_CHARACTERS = 10_000


class Answer(models.Model):
    """The text that a person has entered in one field of a lesson."""

    by = models.CharField(max_length=150, blank=True)
    lesson = models.PositiveSmallIntegerField()
    field = models.CharField(max_length=30, help_text="prediction-4, step-4 or question-2")
    text = models.TextField(blank=True, max_length=MOST_ANSWER_CHARACTERS)
    at = models.DateTimeField(default=timezone.now)

    class Meta:
        constraints = [
            models.UniqueConstraint(fields=("by", "lesson", "field"), name="one_answer_a_field")
        ]

    def __str__(self) -> str:
        return f"{self.lesson}, {self.field}: {self.text[:60]}"


class StepLaunch(models.Model):
    """A person's newest launch for one step of a lesson."""

    by = models.CharField(max_length=150, blank=True)
    lesson = models.PositiveSmallIntegerField()
    step = models.PositiveSmallIntegerField()
    launch = models.ForeignKey(Launch, on_delete=models.CASCADE)

    class Meta:
        constraints = [
            models.UniqueConstraint(fields=("by", "lesson", "step"), name="one_launch_a_step")
        ]

    def __str__(self) -> str:
        return f"{self.lesson}, step {self.step}: {self.launch}"


class HandIn(models.Model):
    """A lesson that a person has handed in, as a file that later work does not change."""

    by = models.CharField(max_length=150, blank=True)
    lesson = models.PositiveSmallIntegerField()
    text = models.TextField(help_text="Markdown")
    at = models.DateTimeField(default=timezone.now)

    class Meta:
        constraints = [
            models.UniqueConstraint(fields=("by", "lesson"), name="one_hand_in_a_lesson")
        ]

    def __str__(self) -> str:
        return f"lesson {self.lesson} by {self.by}"


class Token(models.Model):
    """A person's token for programs. The database stores only its digest."""

    NAME_LENGTH = 60

    person = models.ForeignKey(settings.AUTH_USER_MODEL, on_delete=models.CASCADE)
    name = models.CharField(max_length=NAME_LENGTH)
    digest = models.CharField(max_length=64, unique=True)
    made_at = models.DateTimeField(default=timezone.now)
    used_at = models.DateTimeField(null=True)

    class Meta:
        ordering = ("made_at",)
        constraints = [models.UniqueConstraint(fields=("person", "name"), name="one_token_a_name")]

    def __str__(self) -> str:
        return f"{self.name} of {self.person}"


def forget_work(person: str) -> None:
    """Delete a person's work on all lessons."""
    for kept in (Answer, StepLaunch, HandIn):
        kept.objects.filter(by=person).delete()

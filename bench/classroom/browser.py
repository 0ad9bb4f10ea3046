"""A person who uses a console with accounts through a browser, and a record of all answers."""

import threading
import time
from dataclasses import dataclass, field
from typing import Any

import requests

from runtime import certificate_files
from runtime.settings import Settings

PATIENCE_S = 60.0
"""The real seconds after which a missing page is an error."""


@dataclass(frozen=True, slots=True)
class Answer:
    """An answer of the console, or the record of a missing answer."""

    page: str
    seconds: float
    status: int
    """The HTTP status of the answer, or 0 without an answer."""
    path: str
    words: str = ""


@dataclass
class Records:
    """The console's answers and the checks of policies. Several threads add entries."""

    answers: list[Answer] = field(default_factory=list)
    checks: list[tuple[float, int]] = field(default_factory=list)
    """The duration in seconds and the exit status of each check of a policy."""

    def errors(self) -> list[Answer]:
        """Return the answers that no student should get: missing answers, errors of the server, and
        refusals.
        """
        return [one for one in self.answers if one.status == 0 or one.status >= 400]


class Person:
    """A person's browser, with one connection, its cookies, and a record of every answer."""

    def __init__(self, lab: Settings, name: str, password: str, records: Records) -> None:
        self.name = name
        self.lab = lab
        self._password = password
        self._records = records
        self.origin = lab.lab_url.rstrip("/")
        self.session = requests.Session()
        self.session.trust_env = False
        self.session.verify = str(certificate_files.of(lab.state_dir).authority)

    def stranger(self) -> "Person":
        """Return another browser, which is not logged in, for the same console and with the same
        records.
        """
        return Person(self.lab, self.name, "", self._records)

    def get(self, page: str, path: str, **more: Any) -> requests.Response | None:
        return self._ask(page, "GET", path, **more)

    def post(self, page: str, path: str, data: object = None, **more: Any) -> Any:
        token = next(
            (one.value for one in self.session.cookies if one.name.endswith("lab_csrf")), ""
        )
        headers = {"X-CSRFToken": token or "", "Referer": f"{self.origin}/"}
        return self._ask(page, "POST", path, data=data, headers=headers, **more)

    def log_in(self) -> None:
        """Log in. Raise RuntimeError if the login fails, because a person without a login would
        measure nothing.
        """
        self.get("log in", "/people/login")
        answer = self.post(
            "log in", "/people/login", {"username": self.name, "password": self._password}
        )
        if answer is None or not answer.ok or "/people/login" in answer.url:
            raise RuntimeError(f"{self.name} cannot log in: {self._records.answers[-1]}")

    def stream(self, seconds: float, over: threading.Event) -> None:
        """Read the watch page, and its stream of events for `seconds` or until `over` is set."""
        self.get("watch", "/watch/")
        until_s = time.monotonic() + seconds
        began_s = time.perf_counter()
        try:
            with self.session.get(
                self.origin + "/watch/stream", stream=True, timeout=PATIENCE_S
            ) as answer:
                taken_s = time.perf_counter() - began_s
                self.note("stream begins", taken_s, answer.status_code, "/watch/stream")
                for _ in answer.iter_lines():
                    if time.monotonic() > until_s or over.is_set():
                        return
        except requests.RequestException as fault:
            taken_s = time.perf_counter() - began_s
            self.note("stream begins", taken_s, 0, "/watch/stream", str(fault))

    def _ask(self, page: str, method: str, path: str, **more: Any) -> requests.Response | None:
        began_s = time.perf_counter()
        try:
            answer = self.session.request(method, self.origin + path, timeout=PATIENCE_S, **more)
        except requests.RequestException as fault:
            self.note(page, time.perf_counter() - began_s, 0, path, str(fault))
            return None
        words = answer.text[:300] if answer.status_code >= 400 else ""
        self.note(page, time.perf_counter() - began_s, answer.status_code, path, words)
        return answer

    def note(self, page: str, seconds: float, status: int, path: str, words: str = "") -> None:
        self._records.answers.append(Answer(page, seconds, status, path, words))

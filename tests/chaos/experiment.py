"""A live experiment launched in the console, and the console's report of it."""

import html
import io
import json
import re
from collections import Counter
from dataclasses import dataclass, field
from typing import Any

import pyarrow.parquet as pq

from common.seeded_shop import ACCOUNT_NAME
from tests.chaos.runtimes import Runtime, wait_for

SESSIONS = 600
"""Sessions, fewer than the seeded accounts before the buyers': each has a separate account."""
SPEC = f"""version = 1
title = "One part dies"
time_scale = 20
[[policy]]
name = "8q-lifo-pri"
[load]
rho = [0.8]
sessions = {SESSIONS}
"""
SIMULATED = """version = 1
title = "The next"
engine = "simulated"
[[policy]]
name = "sq"
[load]
rho = [1.4]
sessions = 100
"""
ENDED = ("done", "failed", "interrupted", "cancelled")
_ORDERS = """
    SELECT username, count(*) FROM shop_order
    JOIN shop_customer ON shop_customer.id = customer_id
    WHERE is_seeded GROUP BY username
"""


@dataclass
class Experiment:
    """One launch; call `ended` before reading its results."""

    runtime: Runtime
    launch: str
    state: str = ""
    reason: str = ""
    result: str = ""
    events: list[dict[str, Any]] = field(default_factory=list)
    run: dict[str, Any] = field(default_factory=dict)
    """The content of run.json; empty if the run is not whole."""
    honesty: list[str] = field(default_factory=list)
    outcomes: Counter[str] = field(default_factory=Counter)
    """Attempts of the load by outcome, if it kept them."""
    orders_lost: int | None = None
    orders_doubled: int | None = None

    def wait_until_customers_come(self) -> None:
        """Wait until a tenth of the run's sessions has ended: the run is in the middle
        of its load."""
        wait_for(lambda: self._sessions_ended() > SESSIONS / 10, "the run's customers")

    def ended(self) -> None:
        """Wait for its end and read its results."""
        console = self.runtime.console
        wait_for(lambda: self._asked() in ENDED, f"the end of launch {self.launch}")
        text = console.get(f"/launches/{self.launch}/state").text
        self.state = self._asked()
        reason = re.search(r'<p class="message[^"]*">(.*?)</p>', text, re.DOTALL)
        self.reason = _plain(reason[1]) if reason else ""
        if not self._find_result():
            return
        run = self._run_folder()
        self.events = [json.loads(line) for line in self._file(f"{run}/events.jsonl").splitlines()]
        self.run = json.loads(self._file(f"{run}/run.json") or "{}")
        tables = self._file("tables.md").decode()
        self.honesty = [line[2:] for line in tables.splitlines() if line.startswith("- ")]
        self._hold_against_database(self._file(f"{run}/attempts.parquet"))

    def output(self) -> str:
        """Return the output of the command, as the console shows it."""
        return html.unescape(self.runtime.console.get(f"/launches/{self.launch}/").text)

    def _hold_against_database(self, attempts: bytes) -> None:
        """Compare with the database: each session has an account with one order, or none."""
        orders = {username: int(count) for username, count in self.runtime.rows(_ORDERS)}
        orders = {name: n for name, n in orders.items() if name <= ACCOUNT_NAME % SESSIONS}
        self.orders_doubled = sum(count - 1 for count in orders.values())
        if not attempts:
            return
        rows = pq.read_table(io.BytesIO(attempts)).to_pydict()
        self.outcomes = Counter(rows["outcome"])
        confirmed = {
            ACCOUNT_NAME % (session + 1)
            for session, page, outcome in zip(
                rows["session"], rows["page"], rows["outcome"], strict=True
            )
            if page == "Tr-4" and outcome == "completed"
        }
        self.orders_lost = len(confirmed - set(orders))

    def _sessions_ended(self) -> int:
        text = self.runtime.console.get(f"/launches/{self.launch}/state").text
        assert self._asked() not in ENDED, self.output()
        said = re.search(rf"(\d+)/{SESSIONS} sessions", text)
        return int(said[1]) if said else 0

    def _find_result(self) -> bool:
        found = re.search(
            r"/results/([^/\"]+)/", self.runtime.console.get(f"/launches/{self.launch}/state").text
        )
        self.result = found[1] if found else ""
        return bool(found)

    def _run_folder(self) -> str:
        [planned] = json.loads(self._file("plan.json"))
        return f"runs/{planned['number']:03}-{planned['policy']}-rho0.8-seed{planned['seed']}"

    def _file(self, path: str) -> bytes:
        """Return a file of the result; empty if it is missing."""
        answer = self.runtime.console.get(f"/results/{self.result}/files/{path}")
        return answer.content if answer.status_code == 200 else b""

    def _asked(self) -> str:
        return self.runtime.console.state_of(self.launch)


def launched(runtime: Runtime, spec: str = SPEC) -> Experiment:
    """Upload the spec to the console, as a person does."""
    answer = runtime.console.upload("spec", "/upload/", "chaos.toml", spec.encode())
    found = re.search(r"/launches/([0-9a-f]+)/$", answer.url)
    assert found, answer.text
    return Experiment(runtime, found[1])


def _plain(fragment: str) -> str:
    return " ".join(html.unescape(re.sub(r"<[^>]+>", " ", fragment)).split())

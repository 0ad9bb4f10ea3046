"""The attacks of hostile students, from the findings of a security review.

Each attack succeeded against an earlier version of the console. The present console must refuse the
attack or limit its effect (SECURITY.md).
"""

import io
import json
import random
import re
import threading
import time
import zipfile
from collections import defaultdict
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack
from functools import cache

import pyarrow as pa
import pyarrow.parquet as pq
import requests
from rich.table import Table

from bench import harness
from bench.classroom.browser import Answer, Person
from common import hosts
from lab.files.run_summary import PlannedRun
from loadgen.records.attempt_log import SCHEMA

ROWS = 20_000_000
"""The number of rows in a Parquet file that is small on disk, but takes gigabytes of memory."""
PAUSE_S = 3.0
CLASS_HAS_LOGGED_IN_S = 45.0
INNER_HOST = "inner host without a token"
RUN = f"runs/{PlannedRun(number=0, policy='sq', rho=1.4, seed=1).folder}"
SPEC = """version = 1
title = "{title}"
engine = "simulated"
seed = {seed}
repetitions = {repetitions}
{policies}
[load]
rho = [{rhos}]
sessions = {sessions}
"""


ATTACKS = (
    "large_parquet",
    "deep_json",
    "zeros",
    "forged_names",
    "hundred_thousand_runs",
    "million_sessions",
    "predictions",
    "dotted_keys",
    "long_seed",
    "deep_toml",
    "spellings_of_a_name",
    "unknown_names",
    "notes",
    "streams",
    "inner_host",
)
"""The attacks, each given by the name of its method."""


class Attacker:
    """A hostile student, who repeats all attacks until the lesson is over."""

    def __init__(self, person: Person, seed: int) -> None:
        self._person = person
        self._random = random.Random(seed)

    def attend(self, over: threading.Event) -> None:
        """Log in, wait while the class logs in, and attack.

        All people of this bench use one IP address. The attackers' wrong passwords can prevent
        every login from this address for five minutes (SECURITY.md).
        """
        self._person.log_in()
        over.wait(CLASS_HAS_LOGGED_IN_S)
        names = list(ATTACKS)
        while True:
            self._random.shuffle(names)
            for name in names:
                self.attack(name)
                if over.wait(self._random.expovariate(1 / PAUSE_S)):
                    return

    def attack(self, name: str) -> None:
        getattr(self, f"_{name}")()

    # ---- bundles ---------------------------------------------------------------------------------

    def _large_parquet(self) -> None:
        self._import(
            "bundle with 20 million rows",
            {f"{RUN}/attempts.parquet": many_rows(), f"{RUN}/run.json": b"{}"},
        )

    def _deep_json(self) -> None:
        deep = "[" * 200_000 + "]" * 200_000
        for name in ("reproduction.json", "machine.json", f"{RUN}/run.json", "tables.json"):
            self._import(f"bundle with a deep {name}", {name: deep.encode()})
        self._import("bundle in another format", {"tables.json": b'[{"rows": [5]}, {"header": 5}]'})

    def _zeros(self) -> None:
        self._import("bundle with 300 MiB of zeros", {"notes.log": bytes(300 * 2**20)})

    def _forged_names(self) -> None:
        forged = json.dumps([{"name": "mine", "efficiency": 0.999}]).encode()
        self._import("bundle named scoreboard", {"scoreboard.json": forged}, name="scoreboard")
        self._import("bundle with a future date", {}, name="20991231T235959Z-forged")
        self._import("bundle with an invalid date", {}, name="99999999T999999Z-forged")

    def _import(self, page: str, files: dict[str, bytes], name: str = "") -> None:
        folder = name or f"20260101T000000Z-{self._person.name}-{self._random.randrange(10**9)}"
        content = io.BytesIO()
        plan = [{"number": 0, "policy": "sq", "rho": 1.4, "seed": 1}]
        with zipfile.ZipFile(content, "w", zipfile.ZIP_DEFLATED) as bundle:
            for path, data in {
                "spec.toml": _spec("forged").encode(),
                "plan.json": json.dumps(plan).encode(),
                **files,
            }.items():
                bundle.writestr(f"{folder}/{path}", data)
        sent = {"bundle": ("evil.zip", content.getvalue())}
        self._person.post(page, "/results/import", files=sent)

    # ---- specs -----------------------------------------------------------------------------------

    def _hundred_thousand_runs(self) -> None:
        policies = [f"sq-{number}" for number in range(50)]
        rhos = ", ".join(f"{0.5 + number / 50:.2f}" for number in range(50))
        self._upload("spec of 100,000 runs", _spec("many", 40, policies, rhos))

    def _million_sessions(self) -> None:
        self._upload("spec of 1,000 x 1,000,000", _spec("long", 1000, ["sq"], "1.4", 1_000_000))

    def _dotted_keys(self) -> None:
        self._upload("spec with one dotted key", f"{'a.' * 30_000}a = 1")

    def _long_seed(self) -> None:
        self._upload("spec with a seed of 60,000 digits", _spec("seed", seed="9" * 60_000))

    def _deep_toml(self) -> None:
        self._upload("spec with nested lists", f"a = {'[' * 30_000}{']' * 30_000}")

    def _upload(self, page: str, text: str) -> None:
        self._person.post(page, "/upload/", files={"spec": ("evil.toml", text.encode())})

    def _predictions(self) -> None:
        form = {
            "title": "slow",
            "engine": "simulated",
            "policies": ["sq", "8q-lifo-pri"],
            "admission": ["none"],
            "abandonment": ["ignore"],
            "rho": ", ".join(f"{1 + number / 50:.2f}" for number in range(20)),
            "sessions": 1_000_000,
            "repetitions": 1000,
            "page_profile": "paper",
            "seed": 1,
            "time_scale": 10,
        }
        for _ in range(20):
            self._person.post("20 predictions", "/launch/lifo-pri-simulated/predict", form)

    # ---- accounts --------------------------------------------------------------------------------

    def _spellings_of_a_name(self) -> None:
        names = [f"{' ' * number}student0{1 + number % 9}" for number in range(16)]
        self._log_in_at_once("16 spellings of names", names)

    def _unknown_names(self) -> None:
        names = [f"nobody{self._random.randrange(10**9)}" for _ in range(16)]
        self._log_in_at_once("16 unknown names", names)

    def _log_in_at_once(self, page: str, names: Sequence[str]) -> None:
        def log_in(name: str) -> None:
            stranger = self._person.stranger()
            stranger.get(page, "/people/login")
            stranger.post(page, "/people/login", {"username": name, "password": "wrong"})

        with ThreadPoolExecutor(8) as pool:
            list(pool.map(log_in, names))

    # ---- notes, streams, calls -------------------------------------------------------------------

    def _notes(self) -> None:
        answer = self._person.get("results", "/results/")
        names = [] if answer is None else re.findall(r'href="/results/([^/"?]+)/"', answer.text)
        if names:
            for _ in range(20):
                path = f"/results/{self._random.choice(names)}/note"
                self._person.post("20 notes of 9 kB", path, {"text": "x" * 9000})

    def _streams(self) -> None:
        with ExitStack() as stack:
            for _ in range(60):
                began_s = time.perf_counter()
                try:
                    answer = stack.enter_context(
                        self._person.session.get(
                            f"{self._person.origin}/watch/stream", stream=True, timeout=30
                        )
                    )
                    status = answer.status_code
                except requests.RequestException:
                    status = 0
                taken_s = time.perf_counter() - began_s
                self._person.note("60 streams, unread", taken_s, status, "/watch/stream")
            time.sleep(5)

    def _inner_host(self) -> None:
        lab = self._person.lab
        calls: tuple[tuple[str, int, str, dict[str, str]], ...] = (
            ("PUT", lab.gateway_admin_port, "/policy", {"name": "sq"}),
            ("POST", lab.shop_controller_port, "/reset", {}),
        )
        for method, port, path, body in calls:
            began_s = time.perf_counter()
            url = f"http://{hosts.authority(hosts.from_here(lab.inner_host), port)}{path}"
            status = requests.request(method, url, json=body, timeout=30).status_code
            self._person.note(INNER_HOST, time.perf_counter() - began_s, status, path)


def broken(answers: Sequence[Answer]) -> list[Answer]:
    """Return the answers that show harm: an error of the server, or a status other than 401 for a
    call without a token.
    """
    return [
        one
        for one in answers
        if one.status >= 500 or (one.page == INNER_HOST and one.status != 401)
    ]


def _spec(
    title: str,
    repetitions: int = 1,
    policies: Sequence[str] = ("sq",),
    rhos: str = "1.4",
    sessions: int = 100,
    seed: str = "1",
) -> str:
    chosen = "\n".join(
        f'[[policy]]\nname = "sq"\nlabel = "{policy}"'
        if policy != "sq"
        else '[[policy]]\nname = "sq"'
        for policy in policies
    )
    return SPEC.format(
        title=title,
        seed=seed,
        repetitions=repetitions,
        policies=chosen,
        rhos=rhos,
        sessions=sessions,
    )


@cache
def many_rows() -> bytes:
    """Return a file with ROWS equal rows: some hundred kilobytes, but gigabytes as a table."""
    part = 1_000_000
    columns = {
        "session": pa.array([1] * part, pa.int32()),
        "page": pa.array(["Br-1"] * part),
        "outcome": pa.array(["completed"] * part),
        "request_id": pa.array(["x"] * part),
    }
    filled = [columns.get(field.name, pa.array([1] * part).cast(field.type)) for field in SCHEMA]
    table = pa.Table.from_arrays(filled, schema=SCHEMA)
    sink = io.BytesIO()
    with pq.ParquetWriter(sink, SCHEMA, compression="zstd") as writer:
        for _ in range(ROWS // part):
            writer.write_table(table)
    return sink.getvalue()


def table(answers: Sequence[Answer]) -> Table:
    """Return the results of each attack: number of tries, answers, longest time."""
    found = harness.table("Attacks", "", "n", "answers", "longest, s", texts=("answers",))
    by_page: dict[str, list[Answer]] = defaultdict(list)
    for one in answers:
        by_page[one.page].append(one)
    for page, those in sorted(by_page.items()):
        statuses = ", ".join(str(status) for status in sorted({one.status for one in those}))
        longest_s = max(one.seconds for one in those)
        found.add_row(page, str(len(those)), statuses, f"{longest_s:.1f}")
    return found

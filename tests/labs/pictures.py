"""Pictures of the lab sheets, taken of the running appliance: `make lab-pictures`.

With arguments, only the pictures whose names contain one of them are taken. A picture shows the
newest result of its kind; missing results are made first, with the commands of the sheets.
"""

import io
import json
import shutil
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from PIL import Image
from playwright.sync_api import Page, sync_playwright

from common import processes
from common.http_json import JsonClient
from lab.lessons.sheet import sheets
from lab.results.comparison import ComparisonResult
from lab.students.template import write_policy
from runtime.settings import REPOSITORY, Settings, load

FOLDER = REPOSITORY / "docs" / "images" / "labs"
WIDTH_PX = 1280
COLOURS = 256
PATIENCE_S = 600.0
DOORBUSTER = (str(REPOSITORY / ".venv/bin/doorbuster"),)


class Studio:
    """A browser window for the running appliance."""

    def __init__(self, page: Page, lab: Settings) -> None:
        self.page = page
        self.lab = lab
        self.console = f"http://127.0.0.1:{lab.lab_port}"
        self.shop = f"http://127.0.0.1:{lab.gateway_port}"
        self._gateway = JsonClient(
            "127.0.0.1", lab.gateway_admin_port, timeout_s=60, token=lab.inner_token
        )

    def open(self, address: str) -> None:
        """Open a page of the appliance, and wait until it is still."""
        self.page.goto(address, wait_until="load")
        self.page.wait_for_timeout(1000)  # charts draw after the load

    def take(self, name: str, *, height: int = 800, at: str | None = None) -> None:
        """Take a picture of the window, or of the window with `at` at its top."""
        self.page.set_viewport_size({"width": WIDTH_PX, "height": height})
        self.page.wait_for_timeout(2000)  # what is drawn follows the window's size
        if at:
            self.page.locator(at).first.evaluate("e => window.scrollTo(0, e.offsetTop - 8)")
            self.page.wait_for_timeout(500)
        image = Image.open(io.BytesIO(self.page.screenshot())).convert("RGB")
        image.quantize(COLOURS).save(FOLDER / f"{name}.png", optimize=True)
        print(f"{name}.png: {(FOLDER / f'{name}.png').stat().st_size / 1000:.0f} kB")

    def snapshot(self) -> dict[str, Any]:
        """Return the gateway's snapshot."""
        return dict(self._gateway.call("GET", "/snapshot"))

    def wait_until(self, condition: Callable[[], object], what: str) -> None:
        """Return when the condition holds; end the program after PATIENCE_S."""
        until_s = time.monotonic() + PATIENCE_S
        while not condition():
            if time.monotonic() > until_s:
                sys.exit(f"{what} did not come about")
            self.page.wait_for_timeout(250)

    def result(self, *arguments: str) -> str:
        """Return the name of the result folder that `doorbuster` makes with these arguments."""
        subprocess.run([*DOORBUSTER, *arguments], cwd=REPOSITORY, check=True)
        return ComparisonResult.newest(self.lab.results_dir).path.name

    @contextmanager
    def rush(self, *arguments: str) -> Iterator[None]:
        """Run a live run during the block."""
        process = subprocess.Popen([*DOORBUSTER, *arguments, "--fresh"], cwd=REPOSITORY)
        try:
            yield
        finally:
            processes.end(process, PATIENCE_S)


def gallery(studio: Studio) -> None:
    """Take the console's first page."""
    studio.open(studio.console)
    studio.take("gallery")


def shop(studio: Studio) -> None:
    """Take the bookshop, with a banner."""
    studio.open(studio.shop)
    studio.take("shop", height=640)


def watch_collapse(studio: Studio) -> None:
    """Take one queue at twice the capacity, then eight."""
    studio.open(f"{studio.console}/watch/")
    with studio.rush("compare", "--policies", "sq", "--rho", "2", "--sessions", "4000"):
        studio.wait_until(lambda: _is_full(studio, "sq"), "a full queue")
        studio.page.wait_for_timeout(20_000)  # until orphans stand at its head
        studio.take("watch-one-queue", height=1180, at="h1")
        studio.page.select_option("#id_policy", "8q-lifo-pri")
        studio.page.wait_for_timeout(1500)
        studio.page.click("#switch")
        studio.page.wait_for_timeout(20_000)
        studio.take("watch-eight-queues", height=1180, at="h1")


def _is_full(studio: Studio, policy: str, waiting: int = 80) -> bool:
    snapshot = studio.snapshot()
    return snapshot["waiting"] >= waiting and policy in snapshot["policy"]["name"]


def lifo_pri(studio: Studio) -> None:
    """Take a race of a comparison's runs, and the decisions about one request."""
    name = studio.result(
        *("simulate", "--policies", "sq,8q-af,8q-lifo-pri", "--rho", "0.85,1.4,2"),
        *("--sessions", "3000", "--repetitions", "5"),
    )
    address = f"{studio.console}/results/{name}/"
    studio.open(f"{studio.console}/race/?result={name}")
    studio.page.wait_for_timeout(20_000)
    studio.take("race", height=900, at="h1")
    plan = json.loads((studio.lab.results_dir / name / "plan.json").read_text(encoding="utf-8"))
    run = next(
        "{number:03}-{policy}-rho{rho:g}-seed{seed}".format(**one)
        for one in plan
        if (one["policy"], one["rho"]) == ("8q-lifo-pri", 1.4)
    )
    studio.open(f"{address}attempts?run={run}&kind=slow&type=Br-2")
    studio.page.click("text=Why?")
    studio.wait_until(lambda: studio.page.locator("main h2").count() > 1, "the story")
    studio.page.wait_for_timeout(15_000)
    studio.take("why", height=1000, at="h1")


def reports(studio: Studio) -> None:
    """Take the papers' reports, at the places that the sheets mention."""
    for paper, at, arguments in (
        ("lifo-pri", "main", ()),
        ("connection-sentry", "table", ("--engine", "simulated")),
        ("ad-server", "main", ()),
        ("edragon", "figure", ()),
    ):
        pattern = f"*-reproduce-{paper}*-quick/report.html"
        if not list(studio.lab.results_dir.glob(pattern)):
            command = (*DOORBUSTER, "reproduce", paper, *arguments, "--quick")
            subprocess.run(command, cwd=REPOSITORY, check=True)
        newest_report = sorted(studio.lab.results_dir.glob(pattern))[-1]
        studio.open(newest_report.as_uri())
        studio.take(f"report-{paper}", height=900, at=at)


def admission(studio: Studio) -> None:
    """Take rejected sessions: the watch page, and the page that they get."""
    studio.open(f"{studio.console}/watch/")
    arguments = ("run", "sbac-live", "--policies", "sq", "--admission", "sbac-responsive")
    with studio.rush(*arguments, "--rho", "3"):
        studio.wait_until(lambda: _rejects(studio), "rejections")
        studio.page.wait_for_timeout(20_000)
        studio.take("watch-admission", height=760, at="h1")
        studio.wait_until(lambda: _turned_away(studio), "a rejection of this browser")
        studio.take("rejected", height=560)


def _rejects(studio: Studio) -> bool:
    sessions = studio.snapshot()["policy"]["snapshot"].get("admission") or {}
    return bool(sessions.get("rejected", 0) > 50)


def _turned_away(studio: Studio) -> bool:
    """Request the home page without a session; return whether it is refused."""
    studio.page.context.clear_cookies()
    answer = studio.page.goto(studio.shop)
    return answer is not None and answer.headers.get("x-doorbuster-verdict") == "rejected"


def watch_cancel(studio: Studio) -> None:
    """Take one queue at twice the capacity where customers' leaving cancels their work."""
    studio.open(f"{studio.console}/watch/")
    arguments = ("compare", "connection-sentry", "--policies", "sq", "--abandonment", "cancel")
    with studio.rush(*arguments, "--sessions", "3000"):
        studio.wait_until(lambda: _is_full(studio, "sq", 15), "a queue")
        studio.page.wait_for_timeout(15_000)
        studio.take("watch-cancel", height=700, at="h1")


def own_policy(studio: Studio) -> None:
    """Take the template's policy, live."""
    file = REPOSITORY / "own" / "quiet_door.py"
    made = () if file.exists() else write_policy("quiet-door", file.parent)
    studio.open(f"{studio.console}/watch/")
    try:
        arguments = ("compare", "--policies", "own/quiet_door.py", "--rho", "2")
        with studio.rush(*arguments, "--sessions", "3000"):
            studio.wait_until(lambda: _is_full(studio, "quiet_door", 40), "a queue")
            studio.page.wait_for_timeout(15_000)
            studio.take("own-policy", height=700, at="h1")
    finally:
        for path in made:
            path.unlink()


def limits(studio: Studio) -> None:
    """Take the result of the sheet on concurrency limits."""
    (sheet,) = (sheet for sheet in sheets() if sheet.number == 9)
    (spec,) = (
        command
        for step in sheet.steps
        for command in step.commands
        if command.file and "lab9-limits" in command.file
    )
    with TemporaryDirectory() as folder:
        path = Path(folder) / "limits.toml"
        path.write_text(spec.text, encoding="utf-8")
        name = studio.result("simulate", str(path))
    studio.open(f"{studio.console}/results/{name}/")
    studio.take("result-limits", height=900, at="h1")


def shop_banner(studio: Studio) -> None:
    """Take a category with a banner of its concepts."""
    studio.open(f"{studio.shop}/browse/crime/")
    studio.take("shop-banner", height=640)


def hysteresis(studio: Studio) -> None:
    """Take the effect that a minute of overload leaves behind."""
    pattern = "*hysteresis*/report.html"
    if not list(studio.lab.results_dir.glob(pattern)):
        command = (*DOORBUSTER, "leaderboard", "hysteresis", "--quick")
        subprocess.run(command, cwd=REPOSITORY, check=True)
    studio.open(sorted(studio.lab.results_dir.glob(pattern))[-1].as_uri())
    studio.take("hysteresis", height=1010, at="figure")


PICTURES: tuple[Callable[[Studio], None], ...] = (
    gallery,
    shop,
    shop_banner,
    watch_collapse,
    watch_cancel,
    own_policy,
    limits,
    admission,
    lifo_pri,
    reports,
    hysteresis,
)


def main() -> None:
    """Take the pictures whose names are given, or all."""
    executable = shutil.which("chromium") or shutil.which("chromium-browser")
    if executable is None:
        sys.exit("no Chromium; install it: apt-get install chromium")
    wanted = [one for one in PICTURES if not sys.argv[1:] or any(
        word in one.__name__ for word in sys.argv[1:])]  # fmt: skip
    FOLDER.mkdir(parents=True, exist_ok=True)
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=executable, args=["--no-sandbox"])
        page = browser.new_page(viewport={"width": WIDTH_PX, "height": 800}, color_scheme="light")
        studio = Studio(page, load())
        for one in wanted:
            one(studio)
        browser.close()


if __name__ == "__main__":
    main()

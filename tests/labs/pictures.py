"""Pictures of the lab sheets, taken of the running appliance: `make lab-pictures`.

Owns: what each picture shows and how it is brought about. Must not know: the sheets' words.

With arguments those alone whose names contain one of them. Results that are shown are the newest of
their kind; what is missing is made first, with the commands that the sheets have.
"""

import io
import json
import shutil
import subprocess
import sys
import time
import urllib.request
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

from PIL import Image
from playwright.sync_api import Page, sync_playwright

from lab.experiments.results import newest
from runtime.settings import REPOSITORY, Settings, load

FOLDER = REPOSITORY / "docs" / "images" / "labs"
WIDTH_PX = 1280
COLOURS = 128
PATIENCE_S = 600.0
DOORBUSTER = (str(REPOSITORY / ".venv/bin/doorbuster"),)


class Studio:
    """A browser window before the running appliance."""

    def __init__(self, page: Page, lab: Settings) -> None:
        self.page = page
        self.lab = lab
        self.console = f"http://127.0.0.1:{lab.lab_port}"
        self.shop = f"http://127.0.0.1:{lab.gateway_port}"
        self._admin = f"http://127.0.0.1:{lab.gateway_admin_port}"

    def open(self, address: str) -> None:
        """A page of it, once it is still."""
        self.page.goto(address, wait_until="load")
        self.page.wait_for_timeout(1000)  # charts draw after the load

    def take(self, name: str, *, height: int = 800, at: str | None = None) -> None:
        """The window as it is, or with `at` at its top."""
        self.page.set_viewport_size({"width": WIDTH_PX, "height": height})
        if at:
            self.page.locator(at).first.evaluate("e => window.scrollTo(0, e.offsetTop - 8)")
            self.page.wait_for_timeout(500)
        image = Image.open(io.BytesIO(self.page.screenshot())).convert("RGB")
        image.quantize(COLOURS).save(FOLDER / f"{name}.png", optimize=True)
        print(f"{name}.png: {(FOLDER / f'{name}.png').stat().st_size / 1000:.0f} kB")

    def snapshot(self) -> dict[str, Any]:
        """What the gateway says of itself."""
        with urllib.request.urlopen(f"{self._admin}/snapshot", timeout=60) as answer:
            found: dict[str, Any] = json.load(answer)
        return found

    def wait_until(self, condition: Callable[[], object], what: str) -> None:
        """Returns when it holds; ends the program after PATIENCE_S."""
        until_s = time.monotonic() + PATIENCE_S
        while not condition():
            if time.monotonic() > until_s:
                sys.exit(f"{what} did not come about")
            self.page.wait_for_timeout(250)

    def result(self, *arguments: str) -> str:
        """The name of the result folder that `doorbuster` makes with these."""
        subprocess.run([*DOORBUSTER, *arguments], cwd=REPOSITORY, check=True)
        return newest(self.lab.results_dir).path.name

    @contextmanager
    def rush(self, *arguments: str) -> Iterator[None]:
        """While a live run goes on."""
        process = subprocess.Popen([*DOORBUSTER, *arguments], cwd=REPOSITORY)
        try:
            yield
        finally:
            process.terminate()
            process.wait(PATIENCE_S)


def gallery(studio: Studio) -> None:
    """The console's first page."""
    studio.open(studio.console)
    studio.take("gallery")


def shop(studio: Studio) -> None:
    """The bookshop, with a banner."""
    studio.open(studio.shop)
    studio.take("shop", height=640)


def watch_collapse(studio: Studio) -> None:
    """One queue at twice the capacity, then eight."""
    studio.open(f"{studio.console}/watch/")
    with studio.rush("compare", "--policies", "sq", "--rho", "2", "--sessions", "4000"):
        studio.wait_until(lambda: _served(studio) > 900, "a queue")
        studio.take("watch-one-queue", height=1180, at="h1")
        studio.page.select_option("#id_policy", "8q-lifo-pri")
        studio.page.wait_for_timeout(1500)
        studio.page.click("#switch")
        studio.page.wait_for_timeout(15_000)
        studio.take("watch-eight-queues", height=1180, at="h1")


def _served(studio: Studio) -> int:
    """Pages since the run began, while a queue is full."""
    snapshot = studio.snapshot()
    return snapshot["waiting"] >= 80 and snapshot["policy"]["name"] == "sq" and 1000


PICTURES: tuple[Callable[[Studio], None], ...] = (gallery, shop, watch_collapse)


def main() -> None:
    """Take those whose names are given, or all."""
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

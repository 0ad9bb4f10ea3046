"""axe-core finds no serious or critical fault on any page, in light, in dark, on a phone."""

import hashlib
import html
import re
from pathlib import Path
from typing import Any

import pytest

VENDOR = Path(__file__).parent / "vendor"
AXE = VENDOR / "axe.min.js"
SIZES = {"light": (1300, 900), "dark": (1300, 900), "phone": (390, 844)}


def test_axe_is_the_published_one():
    digest, name = (VENDOR / "SHA256SUMS").read_text().split()
    assert hashlib.sha256((VENDOR / name).read_bytes()).hexdigest() == digest


@pytest.fixture(scope="module")
def pages(console) -> dict[str, str]:
    """Every page of the console by name, with something on it."""
    launch = console.launch("Looked at", sessions=300, repetitions=2)
    console.wait_until(launch, "done")
    result = console.result_of(launch)
    attempts = f"/results/{result}/attempts"
    why = re.search(r'href="([^"]*/why\?[^"]*)"', console.get(attempts).text)
    assert why
    return {
        "gallery": "/",
        "launch": "/launch/lifo-pri-simulated/",
        "reproduction": "/launch/reproduce-lifo-pri/",
        "queue": "/launches/",
        "one launch": f"/launches/{launch}/",
        "watch": "/watch/",
        "races": "/race/",
        "race": f"/race/?result={result}",
        "shelf": "/results/",
        "result": f"/results/{result}/",
        "overlay": f"/results/overlay?of={result}",
        "attempts": attempts,
        "why": html.unescape(why[1]),
        "delete": f"/results/{result}/delete",
        "nothing": "/nothing",
    }


@pytest.mark.browser
@pytest.mark.timeout(1200)
@pytest.mark.parametrize("kind", SIZES)
def test_no_page_shuts_anybody_out(console, pages: dict[str, str], chromium: Any, kind: str):
    width, height = SIZES[kind]
    context = chromium.new_context(
        viewport={"width": width, "height": height},
        color_scheme="dark" if kind == "dark" else "light",
        reduced_motion="reduce",
    )
    context.set_default_timeout(120_000)
    faults: list[str] = []
    for name, path in pages.items():
        page = context.new_page()
        errors: list[object] = []
        page.on("pageerror", lambda error, errors=errors: errors.append(error))
        answer = page.goto(console.url(path))
        assert answer.status == (404 if name == "nothing" else 200), name
        if name in ("result", "overlay"):
            page.wait_for_selector("#curves-charts canvas")
        if name == "why":
            page.wait_for_selector(".story")
            for summary in page.query_selector_all("summary"):
                summary.click()
        page.evaluate(AXE.read_text(encoding="utf-8"))
        found = page.evaluate("axe.run()")
        faults += [
            f"{name}: {one['id']} ({one['impact']}): {node['target']} {node['html'][:160]}"
            for one in found["violations"]
            if one["impact"] in ("serious", "critical")
            for node in one["nodes"][:3]
        ]
        wide = page.evaluate("document.documentElement.scrollWidth")
        if wide > width:
            faults.append(f"{name}: {wide} pixels wide on a screen of {width}")
        faults += [f"{name}: script: {error}" for error in errors]
        page.close()
    context.close()
    assert not faults, "\n".join(faults)

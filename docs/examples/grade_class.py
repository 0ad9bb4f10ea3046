"""Grade a class: read the results and the scoreboard of a console, print one CSV line per student.

    export DOORBUSTER_TOKEN=...            a teacher's token, from the console's page /tokens/
    python grade_class.py https://lab.example.edu:8087 --authority authority.pem > grades.csv

The script needs the standard library only. It counts the comparisons that each student has
launched and completed, and takes the best row of the scoreboard whose author has the student's
name. Change `points` to your scheme.
"""

import argparse
import csv
import json
import os
import ssl
import sys
import urllib.error
import urllib.parse
import urllib.request
from collections.abc import Iterator
from typing import Any

WANTED_RESULTS = 3
"""The number of complete comparisons that gives all points for results."""


class Console:
    """A console and its API."""

    def __init__(self, address: str, token: str, authority: str | None) -> None:
        self._address = address.rstrip("/")
        self._headers = {"Authorization": f"Bearer {token}"}
        self._tls = ssl.create_default_context(cafile=authority)

    def get(self, path: str, **query: object) -> Any:
        """Return the answer of a call."""
        url = f"{self._address}/api/{path}?{urllib.parse.urlencode(query)}"
        request = urllib.request.Request(url, headers=self._headers)
        with urllib.request.urlopen(request, timeout=60, context=self._tls) as answer:
            return json.load(answer)

    def results(self) -> Iterator[dict[str, Any]]:
        """Yield all results, page by page."""
        page = pages = 1
        while page <= pages:
            answer = self.get("results", page=page)
            yield from answer["results"]
            page, pages = page + 1, answer["pages"]


def points(complete: int, efficiency: float | None) -> float:
    """Return the points: up to 50 for results, up to 50 for a policy on the scoreboard."""
    for_results = 50 * min(1, complete / WANTED_RESULTS)
    return round(for_results + 50 * max(0.0, min(1.0, efficiency or 0.0)), 1)


def plain(text: str) -> str:
    """Return a text that no spreadsheet takes for a formula; students choose some of the texts."""
    return f"'{text}" if text.startswith(("=", "+", "-", "@")) else text


def grade(console: Console) -> Iterator[dict[str, object]]:
    """Yield a row for each student."""
    accounts = console.get("accounts")["accounts"]
    students = [one["name"] for one in accounts if one["role"] == "student"]
    results = [one for one in console.results() if one["origin"] == "here"]
    rows = console.get("scoreboard")["rows"]
    for name in students:
        own = [one for one in results if one["by"] == name and one["kind"] == "comparison"]
        complete = [one["name"] for one in own if one["planned"] and one["made"] == one["planned"]]
        conclusions = [
            sentence
            for result in complete
            for sentence in console.get(f"results/{urllib.parse.quote(result)}")["verdict"]
        ]
        best = next((row for row in rows if row["by"] == name and row["place"]), None)
        efficiency = best["overall"]["mean"] if best else None
        yield {
            "name": plain(name),
            "complete results": len(complete),
            "conclusions": plain(" ".join(conclusions)),
            "policy": plain(best["title"]) if best else "",
            "place": best["place"] if best else "",
            "efficiency": "" if efficiency is None else f"{efficiency:.3f}",
            "points": points(len(complete), efficiency),
        }


def main() -> None:
    """Print the grades of the class."""
    parser = argparse.ArgumentParser(description="Grade a class as CSV.")
    parser.add_argument("server", help="the console, e.g. https://lab.example.edu:8087")
    parser.add_argument("--authority", help="its certificate authority, a PEM file")
    given = parser.parse_args()
    token = os.environ.get("DOORBUSTER_TOKEN", "")
    if not token:
        sys.exit("DOORBUSTER_TOKEN: is missing; make a token on the console's page /tokens/")
    try:
        rows = list(grade(Console(given.server, token, given.authority)))
    except urllib.error.HTTPError as fault:
        sys.exit(f"{given.server} refused a call: {fault.read().decode(errors='replace')}")
    except OSError as fault:
        sys.exit(f"{given.server} does not answer: {fault}")
    if not rows:
        sys.exit("The console has no students.")
    writer = csv.DictWriter(sys.stdout, list(rows[0]))
    writer.writeheader()
    writer.writerows(rows)


if __name__ == "__main__":
    main()

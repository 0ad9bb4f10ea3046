"""Describe a bundle with metadata in the form RO-Crate 1.1, which is JSON-LD for research data.

https://www.researchobject.org/ro-crate/specification/1.1/
"""

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import PurePosixPath
from typing import Any
from urllib.parse import quote

METADATA_FILE = "ro-crate-metadata.json"
_SPECIFICATION = "https://w3id.org/ro/crate/1.1"
_LICENCE = "https://www.apache.org/licenses/LICENSE-2.0"
MOST_DESCRIBED = 5_000
"""If a result has more files than this, the files of its runs have no entries."""

_FORMATS = {
    ".conf": "text/plain",
    ".csv": "text/csv",
    ".cfg": "text/plain",
    ".html": "text/html",
    ".ipynb": "application/x-ipynb+json",
    ".json": "application/json",
    ".jsonl": "application/jsonl",
    ".log": "text/plain",
    ".md": "text/markdown",
    ".parquet": "application/vnd.apache.parquet",
    ".png": "image/png",
    ".py": "text/x-python",
    ".svg": "image/svg+xml",
    ".toml": "application/toml",
}
_DESCRIPTIONS = {
    "analysis.ipynb": "A notebook that reads this result with pandas and draws charts.",
    "attempts.parquet": "The customers' attempts to get pages: the time, the duration and the "
    "outcome of each. Times are paper seconds.",
    "bound.json": "The capacity bound as a curve: the most sales that any policy could make on "
    "average without knowing who will buy.",
    "capacity.json": "The capacity of the shop, to which the offered loads refer.",
    "claims.json": "The claims of the paper, and whether they hold here.",
    "conclusion.json": "The verdict at each load, the warnings and the checks.",
    "curves.json": "The curves of the result: response times and metrics with 95 % intervals.",
    "events.jsonl": "The events of the run, one event on each line: the start, changes during the "
    "run, and the end.",
    "exhibits.json": "The figures and tables of the report as numbers.",
    "haproxy.cfg": "The configuration of HAProxy, which ran instead of the gateway.",
    "leaderboard.json": "The leaderboard: the ranks of the policies.",
    "loadgen.log": "The output of the load generator.",
    "machine.json": "The machine that ran the experiment.",
    "nginx.conf": "The configuration of nginx, which ran instead of the gateway.",
    "notes.json": "The notes that users wrote about the result.",
    "plan.json": "The runs of the comparison in their order: policy, offered load, seed.",
    "reference.json": "The command, version and machine that made this included result.",
    "report.html": "The report as one page.",
    "reproduction.json": "The paper, the options, the versions and the machine of a reproduction.",
    "run-summary.schema.json": "The JSON schema of run.json.",
    "run.json": (
        "The outcome of the run: the counts of client, gateway and shop, and whether they agree."
    ),
    "samples.parquet": "Queues, CPU and counters of the gateway and the shop, one row for each "
    "utilisation interval.",
    "scores.json": "The scoreboard: the estimates and sales of each policy.",
    "spec.schema.json": "The JSON schema of spec.toml.",
    "spec.toml": "The spec: everything that defines the experiment.",
    "tables.json": "The tables of the result as numbers and text.",
    "tables.md": "The tables of the result as text for readers.",
    "time.json": "The predicted and the actual time of the experiment.",
    "versions.json": "The versions of Doorbuster and of its libraries.",
}
"""The description of each file by its name; `_described` adds descriptions that depend on the
folder.
"""


@dataclass(frozen=True, slots=True)
class Described:
    """The facts about a bundle that its description contains."""

    title: str
    date: str
    """The day on which the experiment began, in ISO 8601 form."""
    commit: str
    """The commit of the code that made the result; empty if it is unknown."""
    release: str
    """The version of Doorbuster that packed the bundle."""
    files: Mapping[str, int]
    """The size in bytes of each file except the description, by its path in the result."""
    runs: Mapping[str, str]
    """The title of each run, by the path of its folder."""


def metadata(about: Described) -> bytes:
    """Return the metadata of the bundle, the content of METADATA_FILE."""
    shown = about.files
    if len(shown) > MOST_DESCRIBED:
        shown = {
            path: size for path, size in shown.items() if PurePosixPath(path).parts[0] != "runs"
        }
    parts: dict[str, list[str]] = {folder: [] for folder in about.runs}
    outer = [f"{folder}/" for folder in parts]
    for path in shown:
        parts.get("/".join(path.split("/")[:2]), outer).append(path)
    graph = [
        {
            "@id": METADATA_FILE,
            "@type": "CreativeWork",
            "about": {"@id": "./"},
            "conformsTo": {"@id": _SPECIFICATION},
        },
        {
            "@id": "./",
            "@type": "Dataset",
            "name": about.title,
            "description": "A result of Doorbuster, an e-commerce overload-control testbed: its "
            "spec, the logs of its runs, and its tables and figures. Times are paper seconds.",
            "datePublished": about.date,
            "license": {"@id": _LICENCE},
            "hasPart": _links(outer),
            "mentions": {"@id": "#experiment"},
        },
        {
            "@id": _LICENCE,
            "@type": "CreativeWork",
            "name": "Apache License 2.0",
            "description": "The licence of Doorbuster and of the results that it includes. To "
            "publish your result under another licence, change `license` in the entry `./`.",
        },
        {
            "@id": "#doorbuster",
            "@type": "SoftwareApplication",
            "name": "Doorbuster",
            "description": "An e-commerce overload-control testbed: a shop, a gateway with "
            "overload policies, and impatient customers, live and simulated.",
            "softwareVersion": about.commit or "unknown",
            "license": {"@id": _LICENCE},
        },
        {
            "@id": "#packer",
            "@type": "SoftwareApplication",
            "name": "Doorbuster (the release that packed this bundle)",
            "softwareVersion": about.release,
            "license": {"@id": _LICENCE},
        },
        {
            "@id": "#experiment",
            "@type": "CreateAction",
            "name": f"Experiment: {about.title}",
            "startTime": about.date,
            "instrument": {"@id": "#doorbuster"},
            "result": {"@id": "./"},
        },
        *(_folder(folder, about.runs[folder], paths) for folder, paths in parts.items()),
        *(_file(path, size) for path, size in shown.items()),
    ]
    content = {"@context": f"{_SPECIFICATION}/context", "@graph": graph}
    return (json.dumps(content, indent=1, ensure_ascii=False) + "\n").encode()


def _links(paths: Sequence[str]) -> list[dict[str, str]]:
    return [{"@id": quote(path)} for path in paths]


def _folder(folder: str, title: str, paths: Sequence[str]) -> dict[str, Any]:
    return {
        "@id": quote(f"{folder}/"),
        "@type": "Dataset",
        "name": title,
        "description": "One run, with one policy, one offered load and one seed.",
        **({"hasPart": _links(paths)} if paths else {}),
    }


def _file(path: str, size_bytes: int) -> dict[str, Any]:
    place = PurePosixPath(path)
    return {
        "@id": quote(path),
        "@type": "File",
        "name": place.name,
        "description": _described(place),
        "encodingFormat": _FORMATS.get(place.suffix, "application/octet-stream"),
        "contentSize": str(size_bytes),
    }


def _described(path: PurePosixPath) -> str:
    if path.name in _DESCRIPTIONS:
        return _DESCRIPTIONS[path.name]
    match path.parts[0], path.suffix:
        case "policies", ".py":
            return "A copy of a policy that ran in the experiment."
        case "figures", ".csv":
            return "The numbers of a figure."
        case "figures", _:
            return "A figure of the result."
        case "tables", _:
            return "A table of the report."
        case "simulations", _:
            return "The metrics of one run of a study."
        case "attempts", ".parquet":
            return _DESCRIPTIONS["attempts.parquet"]
        case _, ".log":
            return "The output of a program that ran in the experiment."
    return "Another file of the result."

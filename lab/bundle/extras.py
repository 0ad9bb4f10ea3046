"""Create the files that only a bundle has: a notebook, JSON schemas, the bound and metadata."""

import html
import json
from collections.abc import Mapping
from importlib import metadata
from pathlib import Path
from typing import Any, Literal

from pydantic import BaseModel

from lab.analysis.cells import bound_of
from lab.bundle import research_crate
from lab.errors import ExperimentError
from lab.files.documents import read_json
from lab.files.run_summary import RunSummary
from lab.results.comparison import ComparisonResult
from lab.results.result import made_at
from lab.spec.experiment import Spec

TEMPLATE = Path(__file__).with_name("analysis.ipynb")
"""The template of notebooks. The tags of a cell name the kinds of results that need the cell; a
cell without tags is in every notebook.
"""
TITLE = "RESULT_TITLE"
"""The placeholder for the result's title in the first cell."""

Kind = Literal["comparison", "reproduction"]


def notebook(kind: Kind, title: str) -> bytes:
    """Return the notebook for a result of this kind, which reads the files in its folder."""
    made: dict[str, Any] = json.loads(TEMPLATE.read_text(encoding="utf-8"))
    made["cells"] = [
        cell for cell in made["cells"] if kind in (cell["metadata"].get("tags") or [kind])
    ]
    heading = html.escape(" ".join(title.split()))
    first = made["cells"][0]
    first["source"] = [line.replace(TITLE, heading) for line in first["source"]]
    return (json.dumps(made, indent=1, ensure_ascii=False) + "\n").encode()


NOTEBOOK = TEMPLATE.name
_SCHEMAS: Mapping[str, type[BaseModel]] = {
    "spec.schema.json": Spec,
    "run-summary.schema.json": RunSummary,
}
_BOUND = "bound.json"
NAMES = frozenset({NOTEBOOK, research_crate.METADATA_FILE, _BOUND, *_SCHEMAS})
"""The names of the additional files in a bundle."""


def schemas() -> dict[str, bytes]:
    """Return the JSON schemas of specs and of run.json, by file name."""
    dialect = {"$schema": "https://json-schema.org/draft/2020-12/schema"}
    return {name: _json(dialect | form.model_json_schema()) for name, form in _SCHEMAS.items()}


def of(folder: Path, sizes: Mapping[str, int]) -> dict[str, bytes]:
    """Return the additional files for a bundle of `folder`, by name. If the result is damaged, some
    files are missing. `sizes` has the size in bytes of every other file, by path."""
    is_comparison = (folder / "plan.json").is_file()
    kind: Kind = "comparison" if is_comparison else "reproduction"
    title = folder.name
    runs: dict[str, str] = {}
    files: dict[str, bytes] = {}
    try:
        if is_comparison:
            result = ComparisonResult(folder)
            spec, plan = result.spec(), result.plan()
            title = spec.title
            runs = {
                f"runs/{planned.folder}": planned.title(len(plan))
                for planned in plan
                if result.run(planned).is_whole
            }
            if (bound := bound_of(result, spec)) is not None:
                files[_BOUND] = _json(bound.as_json())
        else:
            title = read_json(folder / "reproduction.json").get("title") or title
    except ExperimentError:
        pass
    files |= {NOTEBOOK: notebook(kind, title), **schemas()}
    about = research_crate.Described(
        title=title,
        date=made_at(folder).date().isoformat(),
        commit=_commit(folder),
        release=metadata.version("doorbuster"),
        files=dict(sizes) | {name: len(content) for name, content in files.items()},
        runs=runs,
    )
    return {**files, research_crate.METADATA_FILE: research_crate.metadata(about)}


def _commit(folder: Path) -> str:
    try:
        if (folder / "versions.json").is_file():
            return str(read_json(folder / "versions.json").get("doorbuster", ""))
        versions = read_json(folder / "reproduction.json").get("versions") or {}
        return str(versions.get("doorbuster", ""))
    except ExperimentError:
        return ""


def _json(content: Any) -> bytes:
    return (json.dumps(content, indent=1, ensure_ascii=False) + "\n").encode()

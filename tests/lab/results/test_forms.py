"""Files that are read as objects of their forms."""

import json

import pytest

from lab.errors import ExperimentError
from lab.files import documents
from lab.files.run_folder import RunFolder
from lab.files.run_summary import PlannedRun
from lab.results.result import IMPORTED, Imported

PLANNED = PlannedRun(number=1, policy="sq", rho=1.4, seed=2)


def test_a_plan_is_read_as_planned_runs(tmp_path):
    """The object that was checked is the one that is returned; a fault is named with its place."""
    path = tmp_path / "plan.json"
    documents.write_json(path, [PLANNED.model_dump()])
    assert documents.read(path, list[PlannedRun]) == [PLANNED]
    documents.write_json(path, [{**PLANNED.model_dump(), "policy": ["sq"]}])
    words = r"does not have the form of plan\.json: 0\.policy: .*valid string"
    with pytest.raises(ExperimentError, match=words):
        documents.read(path, list[PlannedRun])


@pytest.mark.parametrize("change", [{"by": 1}, {"size_bytes": "x"}, {"other": 1}])
def test_a_damaged_mark_still_marks(tmp_path, change):
    """A mark with a wrong or an unknown entry counts as imported, by nobody."""
    mark = Imported(by="ada", at="2026-11-27", sha256="0", size_bytes=1)
    mark.write(tmp_path)
    assert Imported.read(tmp_path) == mark
    path = tmp_path / IMPORTED
    path.write_text(json.dumps({**mark.model_dump(), **change}))
    assert Imported.read(tmp_path) == Imported()


def test_a_line_of_a_log_may_contain_a_line_separator(tmp_path):
    """Python counts U+2028 and U+0085 as ends of lines; in JSON, they are ordinary characters."""
    folder = RunFolder(tmp_path)
    folder.log("run started", note="one\u2028two\x85three")
    folder.log("run ended")
    assert [event["event"] for event in folder.events()] == ["run started", "run ended"]

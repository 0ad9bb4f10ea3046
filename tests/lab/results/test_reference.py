"""Reference results: what is kept of them, their size, that damage shows and nothing edits them."""

import json
import re
import shutil

import pytest
from click.testing import CliRunner

from doorbuster.commands import main
from lab.cli import reference_results as reference_making
from lab.cli.reference_results import PARTS
from lab.console.results import result_list
from lab.errors import ExperimentError
from lab.report.drawing.svg import compact_svg
from lab.results import reference
from lab.results.comparison import ComparisonResult
from lab.results.reference import Reference

MOST_BYTES = 4_500_000
RACE = next(part.folder for part in PARTS if part.name == "race")
PATH = (
    '<svg><metadata>m</metadata>\n <g transform="scale(0.015625)"><path d="M 10.123456 20 '
    'L 10.123456 20 L 30.5 20 L 30.5 2.25 Q 1 2 3 4 z" style="fill: #fff"/></g></svg>'
)


def test_references_are_whole_and_small():
    """Every part is released with its mark and without damage, and all of it has few bytes."""
    found = {one.name: one for one in result_list.references()}
    assert set(found) == {part.folder.name for part in PARTS}
    for one in found.values():
        assert one.damage == ""
        assert one.reference.at is not None
        assert one.reference.command.startswith("doorbuster ")
        assert one.has_curves or one.is_reproduction
    files = [path for path in reference.FOLDER.rglob("*") if path.is_file()]
    assert sum(path.stat().st_size for path in files) < MOST_BYTES


def test_only_the_race_has_raw_logs():
    """Raw logs are large: one small result has them."""
    with_logs = {one.name for one in result_list.references() if one.has_logs}
    assert with_logs == {"reference-race"}


def test_a_damaged_reference_shows_as_damaged(tmp_path, monkeypatch):
    """A cut or missing mark and a cut table are named; the result stays a reference."""
    monkeypatch.setattr(reference, "FOLDER", tmp_path)
    cuts = {"reference.json": "{", "tables.json": "[", "missing": ""}
    for name, text in cuts.items():
        shutil.copytree(RACE, tmp_path / f"reference-{name}")
        if text:
            (tmp_path / f"reference-{name}" / name).write_text(text)
        else:
            (tmp_path / f"reference-{name}" / "reference.json").unlink()
    for one in result_list.references():
        assert one.reference is not None
        assert one.damage != ""


def test_a_copy_elsewhere_is_no_reference(tmp_path):
    """The place decides, not the mark: a bundle that brings a mark is an ordinary result."""
    shutil.copytree(RACE, tmp_path / "copy")
    assert Reference.read(tmp_path / "copy") is None
    assert Reference.read(RACE) is not None


def test_the_newest_result_is_never_a_reference(tmp_path):
    """`doorbuster results draw` without a folder finds nothing where nothing has been made."""
    with pytest.raises(ExperimentError, match="has no comparison yet"):
        ComparisonResult.newest(tmp_path)


def test_no_command_edits_a_reference():
    """`doorbuster results draw` refuses the folder of a reference and names it."""
    before = {path: path.stat().st_mtime_ns for path in RACE.rglob("*")}
    done = CliRunner().invoke(main, ["results", "draw", str(RACE)])
    assert done.exit_code == 2
    assert "is included in Doorbuster" in done.output
    assert before == {path: path.stat().st_mtime_ns for path in RACE.rglob("*")}


@pytest.mark.long
def test_a_part_is_made_kept_and_then_up_to_date(tmp_path, monkeypatch):
    """The small race is made by its command; made again by the same code it is left as it is."""
    monkeypatch.setattr(reference, "FOLDER", tmp_path / "reference")
    monkeypatch.setenv("DOORBUSTER_STATE_DIR", str(tmp_path / "state"))
    part = reference_making.Part(
        "race", "", ("simulate", reference_making.RACE_SPEC, "--sessions", "60"), quick=()
    )
    monkeypatch.setattr(reference_making, "PARTS", (part,))
    said = []
    reference_making.carry_out([], quick=False, fresh=False, say=said.append)
    assert any(re.search(r"\[1/1\] race: \d+ s, ", line) for line in said), said
    (kept,) = result_list.references()
    assert kept.damage == ""
    assert not kept.has_logs
    assert kept.has_curves
    assert not list((tmp_path / "state" / "reference").iterdir())
    before = kept.path.stat().st_ino
    reference_making.carry_out(["race"], quick=False, fresh=False, say=said.append)
    assert "up to date" in said[-2]
    assert kept.path.stat().st_ino == before


def test_a_part_that_fails_is_named_and_keeps_the_old_one(tmp_path, monkeypatch):
    """The last line of its command is shown, and what was released before stays."""
    monkeypatch.setattr(reference, "FOLDER", tmp_path / "reference")
    monkeypatch.setenv("DOORBUSTER_STATE_DIR", str(tmp_path / "state"))
    part = reference_making.Part("race", "", ("simulate", "no-such-spec"), quick=())
    monkeypatch.setattr(reference_making, "PARTS", (part,))
    part.folder.mkdir(parents=True)
    (part.folder / "old").write_text("released before")
    said = []
    with pytest.raises(ExperimentError, match="race"):
        reference_making.carry_out([], quick=False, fresh=False, say=said.append)
    assert "no-such-spec" in said[1]
    assert (part.folder / "old").exists()


def test_a_result_survives_an_end_between_the_two_renames(tmp_path):
    """The next attempt restores the old result, and keeps it if the new result is damaged."""
    target = tmp_path / "reference-race"
    old = tmp_path / ".reference-race.old"
    old.mkdir()
    (old / "file").write_text("released before")
    with pytest.raises(ExperimentError):
        reference_making.keep(PARTS[0], tmp_path / "none", target, took_real_s=1.0, quick=False)
    assert (target / "file").read_text() == "released before"


def test_svg_is_compacted_to_relative_tenths():
    """Points become relative tenths, factors below 1 stay exact, what adds nothing goes."""
    assert compact_svg(PATH) == (
        '<svg><g transform="scale(0.015625)"><path d="m10.1 20h20.4v-17.8q-29.5-.2-27.5 1.8z" '
        'style="fill: #fff"/></g></svg>'
    )


def test_files_are_json_without_blanks():
    """The forms of results are kept; only programs read these files."""
    for part in PARTS:
        for path in part.folder.glob("*.json"):
            if path.name != reference.MARK:
                assert path.read_text().count("\n") == 1, path
                json.loads(path.read_text())

"""What a bundle says of itself: its description for archives, and its schemas."""

import json
import tomllib
from urllib.parse import unquote

import jsonschema
import pytest

from lab.bundle import extras
from lab.results.reference import folders


def entities(folder):
    """Return id → entity of the description; ids are unique."""
    content = json.loads((folder / "ro-crate-metadata.json").read_text(encoding="utf-8"))
    assert content["@context"] == "https://w3id.org/ro/crate/1.1/context"
    graph = content["@graph"]
    found = {entity["@id"]: entity for entity in graph}
    assert len(found) == len(graph)
    return found


def links(value):
    """Yield all ids that an entity refers to."""
    if isinstance(value, dict):
        if set(value) == {"@id"}:
            yield value["@id"]
        for inner in value.values():
            yield from links(inner)
    elif isinstance(value, list):
        for inner in value:
            yield from links(inner)


@pytest.mark.parametrize("folder", folders(), ids=lambda folder: folder.name)
def test_the_description_has_the_form_of_ro_crate(unpacked, folder):
    """The rules of RO-Crate 1.1: descriptor, root with four properties, no dangling link."""
    found = entities(unpacked(folder))
    descriptor = found["ro-crate-metadata.json"]
    assert descriptor["@type"] == "CreativeWork"
    assert descriptor["conformsTo"] == {"@id": "https://w3id.org/ro/crate/1.1"}
    root = found[descriptor["about"]["@id"]]
    assert root["@type"] == "Dataset"
    assert all(root[name] for name in ("name", "description", "datePublished", "license"))
    assert all("@type" in entity for entity in found.values())
    elsewhere = "https://w3id.org/ro/crate/1.1"
    assert {link for entity in found.values() for link in links(entity)} <= {*found, elsewhere}


def test_the_description_names_each_file_with_its_size(race):
    found = entities(race)
    described = {unquote(name): e for name, e in found.items() if e["@type"] == "File"}
    assert {name: entity["contentSize"] for name, entity in described.items()} == {
        path.relative_to(race).as_posix(): str(path.stat().st_size)
        for path in race.rglob("*")
        if path.is_file() and path.name != "ro-crate-metadata.json"
    }
    assert [
        n for n, e in described.items() if e["description"] == "Another file of the result."
    ] == []
    runs = [e for e in found.values() if e["@type"] == "Dataset" and e["@id"].startswith("runs/")]
    assert [run["name"] for run in runs] == [
        "[1/3] sq at ρ = 1.4, seed 1",
        "[2/3] 8q-lifo-pri at ρ = 1.4, seed 1",
        "[3/3] door-lifo at ρ = 1.4, seed 1",
    ]
    made = json.loads((race / "reference.json").read_text(encoding="utf-8"))
    assert found["#doorbuster"]["softwareVersion"] == made["version"]


def test_specs_and_summaries_fit_the_schemas_of_their_bundle(race):
    schemas = {name: json.loads((race / name).read_bytes()) for name in extras.schemas()}
    for schema in schemas.values():
        jsonschema.Draft202012Validator.check_schema(schema)
    spec = tomllib.loads((race / "spec.toml").read_text(encoding="utf-8"))
    jsonschema.validate(spec, schemas["spec.schema.json"])
    for path in race.glob("runs/*/run.json"):
        jsonschema.validate(json.loads(path.read_bytes()), schemas["run-summary.schema.json"])


def test_a_bundle_of_a_result_with_a_damaged_spec_is_still_made(tmp_path, unpacked):
    folder = tmp_path / "here" / "20260101T000000Z-damaged"
    folder.mkdir(parents=True)
    (folder / "plan.json").write_text("[]")
    (folder / "spec.toml").write_text("version = ")
    found = entities(unpacked(folder))
    assert found["./"]["name"] == "20260101T000000Z-damaged"
    assert found["./"]["datePublished"] == "2026-01-01"
    assert not (tmp_path / folder.name / "bound.json").exists()

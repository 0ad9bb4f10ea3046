"""The committed dashboards are what the program writes, and what Grafana can read."""

import itertools
import json
import re

import pytest
import yaml

from dashboards.grafana import colours, sdk
from dashboards.grafana.__main__ import as_text
from dashboards.grafana.boards import boards
from dashboards.grafana.committed import FOLDER, committed, panels
from dashboards.grafana.queries import PROMETHEUS, PROVISIONED, RESULTS
from runtime.settings import REPOSITORY

from grafana_foundation_sdk.cog import runtime as cogruntime  # isort: skip
from grafana_foundation_sdk.cog.plugins import register_default_plugins  # isort: skip
from grafana_foundation_sdk.models import dashboard as models  # isort: skip
from grafana_foundation_sdk.models import units  # isort: skip
from grafana_foundation_sdk.models.common import DataSourceRef  # isort: skip

DASHBOARDS = committed()
PROVISIONING = FOLDER.parent / "provisioning"
UNITS = {value for name, value in vars(units).items() if isinstance(value, str) and name[0] != "_"}

each = pytest.mark.parametrize("name", DASHBOARDS)


def sql_query(data):
    """Return the query in the data of `to_json`. Raises ValueError for data that
    SqlQuery would lose.
    """
    source = DataSourceRef.from_json(data["datasource"])
    found = sdk.SqlQuery(data["rawSql"], data["refId"], source, data["format"])
    if sdk.as_plain(found) != data:
        raise ValueError(f"not a query of PostgreSQL as `to_json` writes it: {data}")
    return found


def read(plain):
    """Return the SDK's model of a dashboard in JSON."""
    register_default_plugins()
    cogruntime.register_dataquery_variant(
        cogruntime.DataqueryConfig(identifier=sdk.POSTGRESQL, from_json_hook=sql_query)
    )
    return models.Dashboard.from_json(plain)


def test_what_is_committed_is_what_the_program_writes():
    written = {f"{board.name}.json": as_text(board) for board in boards()}
    there = {path.name: path.read_text(encoding="utf-8") for path in FOLDER.glob("*.json")}
    assert there == written, "run `make dashboards`"


@each
def test_the_models_of_grafana_lose_no_field(name):
    assert sdk.as_plain(read(DASHBOARDS[name])) == DASHBOARDS[name]


def test_a_field_that_the_models_do_not_know_would_be_seen():
    changed = json.loads(json.dumps(DASHBOARDS["rush"]))
    changed["panels"][1]["fieldConfig"]["defaults"]["unti"] = "s"
    assert sdk.as_plain(read(changed)) != changed
    changed = json.loads(json.dumps(DASHBOARDS["results"]))
    query = next(p for p in panels(changed) if "rawSql" in p["targets"][0])["targets"][0]
    query["rawSQL"] = query["rawSql"]
    with pytest.raises(ValueError, match="rawSQL"):
        read(changed)


@each
def test_the_form_is_one_that_grafana_12_reads(name):
    dashboard = DASHBOARDS[name]
    assert 39 <= dashboard["schemaVersion"] <= 42
    assert dashboard["uid"] == f"doorbuster-{name}"
    assert len(dashboard["uid"]) <= 40
    assert dashboard["tags"] == ["doorbuster"]
    assert dashboard["refresh"] in dashboard["timepicker"]["refresh_intervals"]
    ids = [panel["id"] for panel in dashboard["panels"]]
    assert len(set(ids)) == len(ids)
    assert len({panel["title"] for panel in panels(dashboard)}) == len(panels(dashboard))
    sources = {
        source.uid: {"type": source.type_val, "uid": source.uid} for source in (PROMETHEUS, RESULTS)
    }
    for panel in panels(dashboard):
        assert panel["datasource"] == sources[panel["datasource"]["uid"]]
        refs = [target["refId"] for target in panel["targets"]]
        assert len(set(refs)) == len(refs) >= 1
        for target in panel["targets"]:
            assert target["datasource"] == panel["datasource"]
    for variable in dashboard["templating"]["list"][2:]:
        assert variable["type"] == "query"
        assert variable["datasource"] == sources[variable["datasource"]["uid"]]
    for annotation in dashboard["annotations"]["list"]:
        assert annotation["enable"]
        assert annotation["target"]["datasource"] == annotation["datasource"]


@each
def test_any_grafana_can_import_it(name):
    """Variables choose the data sources; the appliance's own Grafana finds its sources chosen."""
    text = json.dumps(DASHBOARDS[name])
    chosen = DASHBOARDS[name]["templating"]["list"][:2]  # before the variables that use them
    assert {one["name"]: one["current"]["value"] for one in chosen} == PROVISIONED
    assert {one["name"]: (one["type"], one["query"]) for one in chosen} == {
        "prometheus": ("datasource", PROMETHEUS.type_val),
        "results": ("datasource", RESULTS.type_val),
    }
    assert not any(one.get("hide") for one in chosen)
    used = set(re.findall(r'"type": "(?:prometheus|grafana-[\w-]+)", "uid": "([^"]*)"', text))
    assert used <= {"${prometheus}", "${results}"}
    assert used


@each
def test_every_panel_has_a_unit_and_says_what_one_should_see(name):
    for panel in panels(DASHBOARDS[name]):
        assert panel["fieldConfig"]["defaults"]["unit"] in UNITS, panel["title"]
        assert len(panel["description"]) >= 40, panel["title"]
        assert panel["description"].endswith("."), panel["title"]
        for override in panel["fieldConfig"]["overrides"]:
            for change in override["properties"]:
                if change["id"] == "unit":
                    assert change["value"] in UNITS, panel["title"]


@each
def test_panels_lie_in_the_grid_and_beside_each_other(name):
    places = [(panel["title"], panel["gridPos"]) for panel in DASHBOARDS[name]["panels"]]
    for title, at in places:
        assert at["x"] >= 0, title
        assert at["x"] + at["w"] <= 24, title
        assert at["h"] >= 1, title
    for (one, a), (other, b) in itertools.combinations(places, 2):
        apart = (
            a["x"] + a["w"] <= b["x"]
            or b["x"] + b["w"] <= a["x"]
            or a["y"] + a["h"] <= b["y"]
            or b["y"] + b["h"] <= a["y"]
        )
        assert apart, f"{one} and {other}"
    rows = {at["y"] for _, at in places}
    for y in rows:  # no holes: every line of panels is as wide as the page
        assert sum(at["w"] for _, at in places if at["y"] == y) == 24, (name, y)


@each
def test_variables_that_are_used_are_there_and_the_other_way_round(name):
    dashboard = DASHBOARDS[name]
    there = {variable["name"] for variable in dashboard["templating"]["list"]}
    used = variables_in(json.dumps(dashboard))
    assert used <= there
    assert there - used <= {"application", *PROVISIONED}, "a variable that nothing asks for"
    assert {"console", "runs" if name == "results" else "run"} <= there


@each
def test_what_starts_is_marked_and_links_lead_somewhere(name):
    dashboard = DASHBOARDS[name]
    marks = [annotation["name"] for annotation in dashboard["annotations"]["list"]]
    assert marks == ["Experiments", "Runs", "Policies and load"]
    uids = {one["uid"] for one in DASHBOARDS.values()}
    text = json.dumps(dashboard)
    assert set(re.findall(r'"/d/([\w-]+)', text)) <= uids
    assert '"url": "${console}/"' in text
    assert [link["tags"] for link in dashboard["links"] if link["type"] == "dashboards"] == [
        ["doorbuster"]
    ]


def test_colours_are_those_of_the_console_on_a_dark_page():
    sheet = (REPOSITORY / "lab/console/site/static/console/console.css").read_text(encoding="utf-8")
    dark = sheet[sheet.index('data-theme="dark"') :]
    of_pages = [colours.PAGES[page] for page in list(colours.PAGES)[:8]]
    assert re.findall(r"--p\d: (#\w+)", dark)[:8] == of_pages
    for name, colour in {
        "good": colours.GOOD,
        "bad": colours.BAD,
        "accent": colours.ACCENT,
    }.items():
        assert re.search(rf"--{name}: (#\w+)", dark)[1] == colour


def test_grafana_is_told_of_the_same_data_sources():
    (file,) = (PROVISIONING / "datasources").glob("*.yml")
    sources = {one["uid"]: one for one in _yaml(file)["datasources"]}
    assert {uid: one["type"] for uid, one in sources.items()} == {
        PROVISIONED["prometheus"]: PROMETHEUS.type_val,
        PROVISIONED["results"]: RESULTS.type_val,
    }
    results = sources[PROVISIONED["results"]]
    assert results["user"] == "doorbuster_results"
    assert results["secureJsonData"]["password"].startswith("${DOORBUSTER_")
    assert not any(one["editable"] for one in sources.values())


def test_compose_gives_grafana_what_its_provisioning_asks_for():
    compose = _yaml(REPOSITORY / "docker-compose.yml")["services"]["grafana"]
    wanted = {
        name
        for file in PROVISIONING.rglob("*.yml")
        for name in re.findall(r"\$\{(\w+)\}", file.read_text(encoding="utf-8"))
    }
    assert wanted
    assert wanted <= set(compose["environment"])
    (provider,) = _yaml(PROVISIONING / "dashboards/doorbuster.yml")["providers"]
    mounts = dict(volume.split(":")[:2] for volume in compose["volumes"] if "./" in volume)
    assert REPOSITORY / mounts_of(mounts)["/etc/grafana/provisioning"] == PROVISIONING
    assert REPOSITORY / mounts_of(mounts)[provider["options"]["path"]] == FOLDER


def variables_in(text):
    """Return the names of the dashboard variables in a text, without those of Grafana itself."""
    found = re.findall(r"\$\{(\w+)(?::\w+)?\}|\$(\w+)", text)
    names = {braced or plain for braced, plain in found}
    return {name for name in names if not name.startswith("__")}


def mounts_of(volumes):
    """Return place in the container → folder of the repository."""
    return {inside: outside for outside, inside in volumes.items()}


def _yaml(path):
    return yaml.safe_load(path.read_text(encoding="utf-8"))

"""Plans: their JSON, their errors, and a worker that plays one."""

import json
import math
from pathlib import Path
from typing import Any

import pytest

from loadgen.options import OptionError, plan_of
from loadgen.plan import ClientLoop, ClosedLoop, LoadPlan, PartlyOpen, PlanError, Sessions
from loadgen.records.attempt_log import read_metadata
from loadgen.workload.clients import ClientModel
from loadgen.workload.load_schedule import RateStep
from loadgen.workload.partly_open import PartlyOpenModel
from loadgen.workload.sessions import Schedule, Segment, SessionLengths, SessionModel
from tests.fake_shop.pages import small_shop
from tests.programs import python

STEPS = (RateStep(0, 3.5), RateStep(600, 0.75), RateStep(1200, 0))


@pytest.mark.parametrize(
    "plan",
    [
        LoadPlan(load=Sessions(rho=1.4, count=10), seed=7, attempts_file=Path("a.parquet")),
        LoadPlan(
            load=Sessions(
                model=SessionModel(timeout_s=math.inf, lengths=SessionLengths("exponential", 5)),
                session_rate=2,
                schedule=Schedule((Segment(50, 1), Segment(25.5, 2.25))),
            ),
            progress="json",
        ),
        LoadPlan(load=ClosedLoop(customers=30, duration_s=60), time_scale=20),
        LoadPlan(load=ClientLoop(model=ClientModel(per_set=3, mix={"file": 1}), until_s=600)),
        LoadPlan(
            load=PartlyOpen(model=PartlyOpenModel(5, 10, timeout_s=math.inf), steps=STEPS),
            authority=Path("authority.pem"),
        ),
    ],
    ids=lambda plan: plan.load.kind,
)
def test_json_says_all_of_a_plan(plan):
    assert LoadPlan.of_json(json.loads(json.dumps(plan.as_json(), allow_nan=False))) == plan


def test_what_json_leaves_out_has_its_default():
    plain = {"load": {"kind": "sessions", "model": {"timeout_s": 9}, "rho": 2, "count": 5}}
    assert LoadPlan.of_json(plain) == LoadPlan(
        load=Sessions(model=SessionModel(timeout_s=9), rho=2, count=5)
    )


SESSIONS: dict[str, Any] = {"kind": "sessions", "rho": 1, "count": 5}


@pytest.mark.parametrize(
    ("plain", "field", "words"),
    [
        ([], "", "must be a JSON object"),
        ({}, "load", "Field required"),
        ({"load": {"kind": "bots"}}, "load", "'closed-loop'"),
        ({"load": SESSIONS, "sede": 3}, "sede", "not permitted"),
        ({"load": SESSIONS, "time_scale": 0}, "time_scale", "greater than 0 (it is 0)"),
        ({"load": SESSIONS | {"count": 0}}, "load.count", "greater than or equal to 1"),
        ({"load": SESSIONS | {"until_s": 9}}, "load.count", "exactly one of count, until_s"),
        ({"load": SESSIONS | {"session_rate": 9}}, "load.rho", "either rho or session_rate"),
        ({"load": SESSIONS | {"schedule": 9}}, "load.schedule", "a list of pairs of numbers"),
        ({"load": SESSIONS | {"model": 9}}, "load.model", "the model's parameters"),
        ({"load": SESSIONS | {"model": {"p": 9}}}, "load.model.p", "give any of file_sessions"),
        (
            {"load": SESSIONS | {"model": {"max_retries": 900}}},
            "load.model.max_retries",
            "give 0 to 200",
        ),
        (
            {"load": SESSIONS | {"model": {"max_retries": "two"}}},
            "load.model.max_retries",
            "must be a whole number",
        ),
        (
            {"load": SESSIONS | {"model": {"lengths": {"kind": "geometric", "mean": 0}}}},
            "load.model.lengths.mean",
            "give 1 to 4096",
        ),
        (
            {"load": {"kind": "partly-open", "steps": [[0, 1]]}},
            "load.until_s",
            "is missing; give this time, or end steps with a rate of 0",
        ),
        (
            {"load": {"kind": "clients", "until_s": 9}, "load_factor_file": "f"},
            "load_factor_file",
            "a closed loop has no arrivals",
        ),
    ],
)
def test_an_invalid_plan_is_refused_by_field(plain, field, words):
    with pytest.raises(PlanError) as refusal:
        LoadPlan.of_json(plain)
    assert refusal.value.field == field
    assert words in refusal.value.message
    assert "\n" not in str(refusal.value)


@pytest.mark.parametrize(
    ("content", "more", "line"),
    [
        (None, {}, "--plan: {file}: No such file or directory"),
        ("{", {}, "--plan: {file} is not JSON: "),
        ('{"seed": -1}', {}, "--plan: load: Field required"),
        ("{}", {"rho": "2"}, "--rho: --plan sets all values; omit this option or --plan"),
        (
            '{"load": {"kind": "sessions", "rho": 1, "count": 5}, "authority": "/no.pem"}',
            {},
            "--plan: authority: there is no file /no.pem",
        ),
    ],
)
def test_a_plan_file_is_refused_in_one_line(content, more, line, tmp_path):
    file = tmp_path / "plan.json"
    if content is not None:
        file.write_text(content, encoding="utf-8")
    with pytest.raises(OptionError) as refusal:
        plan_of({"plan": str(file)} | more)
    assert str(refusal.value).startswith(line.format(file=file))
    assert "\n" not in str(refusal.value)


def test_a_plan_from_standard_input_is_played(tmp_path):
    file = tmp_path / "attempts.parquet"
    plan = LoadPlan(
        load=Sessions(model=SessionModel(timeout_s=600), session_rate=5, count=30),
        time_scale=20,
        seed=4,
        attempts_file=file,
        progress="json",
    )
    with small_shop() as shop:
        ended = python(
            "-m",
            "loadgen",
            "run",
            "--host",
            shop.url,
            "--plan",
            "-",
            input=json.dumps(plan.as_json()),
        )
    assert ended.returncode == 0, ended.stderr
    found = read_metadata(file)
    assert (found["seed"], found["sessions"], found["session_rate"]) == (4, 30, 5)
    assert found["counts"]["ended"] == 30

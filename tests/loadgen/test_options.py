"""The options: their defaults, and one line for each invalid value."""

import math
from itertools import islice
from pathlib import Path

import pytest

from loadgen.options import OPTIONS, OptionError, plan_of
from loadgen.plan import ClientLoop, ClosedLoop, Part, PartlyOpen, Sessions
from loadgen.workload.clients import ClientModel
from loadgen.workload.partly_open import Partly, PartlyOpenModel
from loadgen.workload.sessions import (
    SBAC_TABLE_1,
    Customers,
    Schedule,
    Segment,
    SessionLengths,
    SessionModel,
)

PARTLY = {"partly_open": "true", "sessions_schedule": "0:3.5,600:0.75,1200:0"}
CLIENTS = {"clients_per_set": "9", "arrivals_until_s": "1800"}

DOCUMENT = Path(__file__).parents[2] / "docs" / "loadgen.md"


def of_sessions(given):
    """Return the options' sessions in an open loop."""
    load = plan_of(given).load
    assert isinstance(load, Sessions)
    return load


def of_clients(given):
    load = plan_of(given).load
    assert isinstance(load, ClientLoop)
    return load


def of_partly_open(given):
    load = plan_of(given).load
    assert isinstance(load, PartlyOpen)
    return load


def test_defaults_are_the_papers():
    load = of_sessions({})
    assert load.model == SessionModel()
    assert load.rho == 0.85
    assert load.rate == pytest.approx(0.85 * 5.6 / 2.397243)
    assert load.count == plan_of({}).planned == 1000
    assert load.schedule is None


def test_lengths_are_given_by_mean_and_kind_or_as_a_mixture():
    load = of_sessions({"session_length_mean": "15", "rho": "3", "capacity_rps": "1000"})
    assert load.model.lengths == SessionLengths("geometric", 15)
    assert load.rate == pytest.approx(200)
    exponential = {"session_length_mean": "15", "session_length_kind": "exponential"}
    assert of_sessions(exponential).model.lengths == SessionLengths("exponential", 15)
    mixture = {"session_mixture": "sales:0.183:73.6, non-sales:0.817:28.2"}
    assert of_sessions(mixture).model.lengths == SessionLengths(mixture=SBAC_TABLE_1)


def test_a_schedule_says_the_loads_and_ends_the_arrivals():
    given = {"load_schedule": "50:1.0, 50:1.5,50:0", "capacity_rps": "10", "seed": "4"}
    plan, load = plan_of(given), of_sessions(given)
    assert load.schedule == Schedule((Segment(50, 1), Segment(50, 1.5), Segment(50, 0)))
    assert load.rho is None
    assert load.rate == pytest.approx(10 / 2.397243)
    assert plan.planned == len(list(load.customers(4).arrivals())) > 400
    assert plan_of(given | {"rho": "1"}) == plan
    facts = plan.facts()
    assert facts["load_schedule"] == [one._asdict() for one in load.schedule.segments]
    assert (facts["sessions"], facts["rho"]) == (plan.planned, None)
    by_rate = {"load_schedule": "50:1.0,50:1.5", "session_rate": "2"}
    assert of_sessions(by_rate).rate == 2


@pytest.mark.parametrize("given", [{}, {"session_length_mean": "5"}])
def test_how_many_arrive_in_a_time_is_known_in_advance(given):
    plan = plan_of({"arrivals_until_s": "200", "session_rate": "2", "seed": "3"} | given)
    assert isinstance(plan.load, Sessions)
    arrivals = Customers(plan.load.model, 3, 2.0).arrivals()
    assert plan.planned == sum(time_s < 200 for time_s in islice(arrivals, 900))
    assert plan.load.arrivals_until_s == 200
    assert sum(Part(index, 3).count(plan.planned) for index in range(3)) == plan.planned


def test_a_session_rate_is_given_directly_or_by_rho():
    assert of_sessions({"session_rate": "3.5"}).rate == 3.5
    by_rho = of_sessions({"rho": "2", "capacity_rps": "10"})
    assert by_rho.rate == pytest.approx(20 / 2.397243)


def test_a_closed_loop_has_customers_who_never_leave_nor_pause():
    plan = plan_of(
        {
            "closed_loop_customers": "30",
            "closed_loop_duration": "60",
            "closed_loop_warm_up": "5",
            "think_time_mean_s": "7",
        }
    )
    load = plan.load
    assert isinstance(load, ClosedLoop)
    assert (load.customers, load.duration_s, load.warm_up_s) == (30, 60, 5)
    assert load.model.timeout_s == math.inf
    assert load.model.think_time_mean_s == 0
    assert Part(0, 4).count(plan.planned) == 8


def test_a_closed_loop_measures_with_lengths_too():
    load = plan_of({"closed_loop_customers": "30", "session_length_mean": "15"}).load
    assert isinstance(load, ClosedLoop)
    assert load.model.lengths == SessionLengths("geometric", 15)
    assert load.model.timeout_s == math.inf


def test_clients_come_instead_of_sessions():
    load = of_clients(CLIENTS)
    assert load.model == ClientModel()
    assert load.until_s == 1800
    planned = plan_of(CLIENTS).planned
    assert [Part(index, 4).count(planned) for index in range(4)] == [5, 5, 4, 4]
    given = {
        "clients_per_set": "3",
        "patience_max_s": "15",
        "client_think_time_mean_s": "2",
        "reload_probability": "0.5",
        "away_mean_s": "0",
        "client_mix": "search:1, file:2.5",
    }
    assert of_clients(CLIENTS | given).model == ClientModel(
        3, 15, 2, 0.5, 0, {"search": 1, "file": 2.5}
    )


def test_partly_open_sessions_come_at_rates_until_the_schedule_ends():
    load = of_partly_open(PARTLY)
    assert load.model == PartlyOpenModel()
    assert load.schedule == Schedule((Segment(600, 3.5), Segment(600, 0.75)))
    assert load.stop_s is None
    assert load.arrivals_until_s == 1200
    planned = plan_of(PARTLY).planned
    assert planned == len(list(Partly(load.model, 1).arrivals(load.schedule)))
    assert load.facts(planned)["sessions_schedule"] == [
        {"from_s": 0, "sessions_ps": 3.5},
        {"from_s": 600, "sessions_ps": 0.75},
        {"from_s": 1200, "sessions_ps": 0},
    ]


def test_partly_open_sessions_are_what_the_options_say():
    given = {
        "partly_open": "True",
        "sessions_schedule": "0:2",
        "arrivals_until_s": "50",
        "stop_s": "60",
        "interactions_mean": "5",
        "interactions_most": "10",
        "interaction_think_time_mean_s": "0",
        "interaction_timeout_s": "inf",
        "reconnects": "0",
        "images_mean": "0",
        "transactions_ratio": "0.3",
    }
    load = of_partly_open(given)
    assert load.model == PartlyOpenModel(5, 10, 0, math.inf, 0, 0, 0.3)
    assert load.schedule == Schedule((Segment(50, 2),))
    assert load.stop_s == 60


@pytest.mark.parametrize("flag", ["false", "False", "no", "0", ""])
def test_a_flag_that_is_down_is_none(flag):
    assert of_sessions({"partly_open": flag})


def test_defaults_that_are_passed_on_are_no_contradiction():
    # A script may pass them all on: 12.0 is the option's 12.
    defaults = {"timeout_s": "8.0", "think_timeout_mean_s": "12.0", "max_retries": "5"}
    assert of_clients(CLIENTS | defaults).model == ClientModel()
    assert of_sessions({"patience_max_s": "7.50"})


@pytest.mark.parametrize(
    ("given", "line"),
    [
        ({"rho": "much"}, "--rho: 'much' is not a number"),
        ({"rho": "0"}, "--rho: 0 is out of range; give a number above 0"),
        ({"rho": "1", "session_rate": "1"}, "--rho: give either --rho or --session-rate, not both"),
        ({"sessions": "1.5"}, "--sessions: '1.5' is not a whole number"),
        ({"seed": "-1"}, "--seed: -1 is out of range; give 0 or more"),
        ({"timeout_s": "-8"}, "--timeout-s: -8 is out of range; give a number of at least 0"),
        (
            {"retry_probability": "1.5"},
            "--retry-probability: 1.5 is not a probability; give 0 to 1",
        ),
        ({"walks": "random"}, "--walks: 'random' is unknown; give quota or chance"),
        ({"progress": "xml"}, "--progress: 'xml' is unknown; give none or json"),
        ({"attempts_file": "/nowhere/a.parquet"}, "--attempts-file: there is no folder /nowhere"),
        ({"session_length_mean": "0.5"}, "--session-length-mean: 0.5: give 1 to 4096 requests"),
        (
            {"session_length_kind": "exponential"},
            "--session-length-kind: 'exponential' has no effect without --session-length-mean",
        ),
        (
            {"session_length_mean": "5", "session_mixture": "a:1:5"},
            "--session-mixture: give either --session-length-mean or --session-mixture, not both",
        ),
        (
            {"session_mixture": "a:1"},
            "--session-mixture: 'a:1' is not a class; give name:share:mean",
        ),
        (
            {"session_mixture": "a:2:5"},
            "--session-mixture: a.share: 2.0: give more than 0, at most 1",
        ),
        ({"session_length_mean": "5", "walks": "chance"}, "--walks: sessions of given lengths"),
        (
            {"load_schedule": "50"},
            "--load-schedule: '50' is not a segment; give seconds:load, e.g.",
        ),
        (
            {"load_schedule": "50:1,-1:2"},
            "--load-schedule: schedule.1.duration_s: -1.0: give a number above 0",
        ),
        ({"load_schedule": "50:1", "rho": "2"}, "--rho: --load-schedule sets the loads; omit"),
        (
            {"load_schedule": "50:1", "sessions": "9"},
            "--sessions: give either --load-schedule or --sessions; each ends the arrivals",
        ),
        (
            {"arrivals_until_s": "9", "sessions": "9"},
            "--sessions: give either --arrivals-until-s or --sessions; each ends the arrivals",
        ),
        ({"arrivals_until_s": "1e-9"}, "--arrivals-until-s: no session arrives in this time"),
        (
            {"arrivals_until_s": "1e12"},
            "--arrivals-until-s: would plan about 1.99e+12 sessions; at most 10000000 are allowed",
        ),
        (
            {"arrivals_until_s": "9", "closed_loop_customers": "3"},
            "--arrivals-until-s: a closed loop has no arrivals; omit this option",
        ),
        ({"account": "customer"}, "--account: 'customer' has no placeholder for a number"),
        ({"partly_open": "perhaps"}, "--partly-open: 'perhaps' is invalid; give true or false"),
        (PARTLY | CLIENTS, "--partly-open: give either --partly-open or --clients-per-set, not"),
        ({"partly_open": "true"}, "--sessions-schedule: is missing; give second:rate, e.g. 0:3.5"),
        ({"authority": "/nowhere.pem"}, "--authority: there is no file /nowhere.pem"),
        (
            {"clients_per_set": "9"},
            "--arrivals-until-s: is missing; it sets the time for which the clients send requests",
        ),
    ],
)
def test_what_cannot_be_meant_is_refused_in_one_line(given, line):
    assert_refused(given, line)


@pytest.mark.parametrize(
    ("given", "line"),
    [
        ({"clients_per_set": "1001"}, "--clients-per-set: 1001 is out of range; give 1"),
        (
            {"reload_probability": "1.5"},
            "--reload-probability: 1.5 is not a probability; give 0 to 1",
        ),
        ({"client_mix": "home"}, "--client-mix: 'home' is not a weight; give kind:weight"),
        ({"client_mix": "home:-1"}, "--client-mix: home: -1.0 is not a weight; give 0 or"),
        (
            {"client_mix": "home:1,home:2"},
            "--client-mix: 'home' is given twice; give each kind once",
        ),
        (
            {"arrivals_until_s": "70001"},
            "--arrivals-until-s: 70001: with a think time of 3.5 s, give at most 70000 s",
        ),
    ],
)
def test_clients_that_cannot_be_meant(given, line):
    assert_refused(CLIENTS | given, line)


@pytest.mark.parametrize(
    ("given", "line"),
    [
        ({"sessions_schedule": "3.5"}, "--sessions-schedule: '3.5' is not a step; give sec"),
        ({"sessions_schedule": "5:1,9:0"}, "--sessions-schedule: the first step must begin"),
        ({"sessions_schedule": "0:1,9:2,8:1,20:0"}, "--sessions-schedule: 8 is not after 9 s"),
        (
            {"sessions_schedule": "0:3.5"},
            "--arrivals-until-s: is missing; give the time at which arrivals end, or end "
            "--sessions-schedule with rate 0, e.g. 0:3.5,600:0",
        ),
        ({"arrivals_until_s": "1200"}, "--arrivals-until-s: 1200 is not after 1200 s"),
        (
            {"sessions_schedule": "0:1e-9,1:0"},
            "--sessions-schedule: no session arrives in this time; give a longer time",
        ),
        (
            {"sessions_schedule": "0:1e9,1:0"},
            "--sessions-schedule: would plan about 1e+09 sessions; at most 10000000 are allowed",
        ),
        ({"stop_s": "1199"}, "--stop-s: 1199 is before the end of arrivals; give 1200 or more"),
        (
            {"interactions_mean": "101"},
            "--interactions-mean: 101.0 is out of range; give 1 to 100, the maximum number of "
            "interactions",
        ),
        (
            {"transactions_ratio": "0.6"},
            "--transactions-ratio: 0.6 is out of range; give 0 to 4/7 (0.571)",
        ),
        ({"away_mean_s": "9"}, "--away-mean-s: has no effect without --clients-per-set"),
    ],
)
def test_partly_open_sessions_that_cannot_be_meant(given, line):
    assert_refused(PARTLY | given, line)


OF_SESSIONS = {
    "rho": "0.85",
    "sessions": "100",
    "load_schedule": "50:1",
    "session_rate": "2",
    "timeout_s": "9",
    "walks": "chance",
    "closed_loop_customers": "30",
}
OF_CLIENTS = {
    "patience_max_s": "10",
    "client_think_time_mean_s": "1",
    "reload_probability": "0.5",
    "away_mean_s": "10",
    "client_mix": "home:1",
}
OF_PARTLY = {
    "sessions_schedule": "0:1,9:0",
    "stop_s": "9",
    "interactions_mean": "9",
    "interactions_most": "9",
    "interaction_think_time_mean_s": "9",
    "interaction_timeout_s": "9",
    "reconnects": "9",
    "images_mean": "9",
    "transactions_ratio": "0.5",
}


@pytest.mark.parametrize(
    ("given", "others", "words"),
    [
        (
            PARTLY,
            OF_SESSIONS | {"think_time_mean_s": "7"},
            "--partly-open uses eDragon's sessions; omit this option or --partly-open",
        ),
        (
            CLIENTS,
            OF_SESSIONS | {"retry_probability": "0.5", "session_length_mean": "5"},
            "clients form a closed loop; omit this option or --clients-per-set",
        ),
        ({}, OF_PARTLY, "has no effect without --partly-open"),
        ({}, OF_CLIENTS, "has no effect without --clients-per-set"),
    ],
    ids=["of partly-open", "of clients", "no partly-open", "no clients"],
)
def test_each_option_of_other_customers_is_refused(given, others, words):
    for name, value in others.items():
        assert_refused(given | {name: value}, f"--{name.replace('_', '-')}: {words}")


def assert_refused(given, line):
    """Assert an error of one line that begins with `line`, which names the option."""
    with pytest.raises(OptionError) as refusal:
        plan_of(given)
    assert str(refusal.value).startswith(line)
    assert "\n" not in str(refusal.value)
    assert refusal.value.option == line.partition(":")[0]


def test_the_variable_of_an_option_follows_the_documents_example():
    example = "`--max-retries`, for example, is `DOORBUSTER_LOAD_MAX_RETRIES`"
    assert example in DOCUMENT.read_text(encoding="utf-8")
    for option in OPTIONS:
        name = option.flag.removeprefix("--").replace("-", "_").upper()
        assert option.variable == f"DOORBUSTER_LOAD_{name}"

"""The Connection Sentry's clients: their draws, the order of their actions, and invalid values.

Sample sizes are given with fixed seeds; bounds are four standard errors of the estimate.
"""

import json
import math
import pickle
from collections import Counter
from random import Random
from statistics import fmean

import pytest

from lab.analysis.published import published
from loadgen.defaults import CONNECTION_SENTRY_MIX
from loadgen.records.attempt_log import SCHEMA
from loadgen.workload.chain import PAGES
from loadgen.workload.clients import (
    KIND_PAGE,
    MOST_PER_SET,
    MOST_RELOADS,
    MOST_STEPS,
    ClientModel,
    Clients,
    Turn,
    place,
)
from loadgen.workload.sessions import SessionModelError

PUBLISHED = published()["connection_sentry"]

CONTROL, TEST = 0, 9
"""A client of either set, with nine in each."""

STEPS = 20_000


def test_the_mix_is_table_2_at_15_s_with_the_sentry():
    table = PUBLISHED["table2_throughput_by_patience_s"]
    served = {kind: table[kind]["15"][1] for kind in KIND_PAGE}
    total = sum(served.values())
    percent = {kind: round(100 * count / total) for kind, count in served.items()}
    # 33 of 2389 is 1.4 percent, 409 is 17.1: rounded they add up to 99 or 100.
    assert percent == dict(CONNECTION_SENTRY_MIX) | {"file": 53}
    assert sum(CONNECTION_SENTRY_MIX.values()) == 100


def test_defaults_are_within_what_was_published():
    model = ClientModel()
    assert model.per_set in PUBLISHED["client_processes_per_set"]
    assert model.patience_max_s in PUBLISHED["patience_s"]
    assert set(KIND_PAGE) < set(PUBLISHED["services"])
    assert [page for page in KIND_PAGE.values() if page in PAGES] == list(PAGES[:4])


def test_the_control_set_never_leaves():
    clients = Clients(ClientModel(), 1)
    assert {clients.patience_s(client, 3, 1) for client in range(9)} == {math.inf}
    assert all(clients.patience_s(client, 3, 1) <= 7.5 for client in range(9, 18))


def test_patience_is_uniform_above_zero_up_to_the_maximum():
    clients = Clients(ClientModel(patience_max_s=7.5), 1)
    draws = sorted(clients.patience_s(TEST, step, 1) / 7.5 for step in range(STEPS))
    assert draws[0] > 0
    assert draws[-1] <= 1
    # Kolmogorov-Smirnov: beyond 1.95 / sqrt(n) once in a thousand times.
    distance = max(abs((i + 1) / STEPS - draw) for i, draw in enumerate(draws))
    assert distance < 1.95 / math.sqrt(STEPS)


def test_kinds_come_by_their_weights_whatever_the_weights_add_up_to():
    for mix in (CONNECTION_SENTRY_MIX, {"home": 1, "search": 3}, {"file": 0.5}):
        model = ClientModel(mix=mix)
        assert sum(model.shares().values()) == pytest.approx(1)
        clients = Clients(model, 4)
        counts = Counter(clients.kind(client, step) for client in (0, 17) for step in range(STEPS))
        assert set(counts) == set(mix)
        for kind, weight in mix.items():
            share = weight / sum(mix.values())
            slack = 4 * math.sqrt(share * (1 - share) / (2 * STEPS))
            assert counts[kind] / (2 * STEPS) == pytest.approx(share, abs=slack + 1e-12)


def test_a_kind_without_weight_is_never_asked_for():
    mix = {"home": 0, "browse": 1, "search": 0, "select": 1, "file": 0}
    clients = Clients(ClientModel(mix=mix), 2)
    assert {clients.page(CONTROL, step) for step in range(STEPS)} == {"Br-2", "Br-4"}


def test_kinds_are_the_same_in_whatever_order_the_weights_were_given():
    given = dict(CONNECTION_SENTRY_MIX)
    turned = dict(reversed(given.items()))
    assert ClientModel(mix=turned) == ClientModel(mix=given)
    one, other = (Clients(ClientModel(mix=mix), 3) for mix in (given, turned))
    assert all(one.kind(5, step) == other.kind(5, step) for step in range(300))


def test_think_times_are_exponential_but_for_the_first_which_is_uniform():
    clients = Clients(ClientModel(think_time_mean_s=3.5, per_set=MOST_PER_SET), 1)
    pauses = [clients.think_time_s(CONTROL, step) for step in range(1, STEPS + 1)]
    assert fmean(pauses) == pytest.approx(3.5, rel=4 / math.sqrt(STEPS))
    beyond = sum(pause > 3.5 for pause in pauses) / STEPS
    assert beyond == pytest.approx(math.exp(-1), abs=4 * math.sqrt(0.233 / STEPS))
    first = [clients.first(client).pause_s for client in range(clients.count)]
    assert all(0 <= pause < 3.5 for pause in first)
    assert fmean(first) == pytest.approx(1.75, abs=4 * 3.5 / math.sqrt(12 * clients.count))


def test_who_leaves_reloads_or_goes_away():
    clients = Clients(ClientModel(reload_probability=0.75, away_mean_s=15), 1)
    again = sum(clients.reloads(TEST, step, 1) for step in range(STEPS)) / STEPS
    assert again == pytest.approx(0.75, abs=4 * math.sqrt(0.1875 / STEPS))
    absences = [clients.away_s(TEST, step) for step in range(STEPS)]
    assert fmean(absences) == pytest.approx(15, rel=4 / math.sqrt(STEPS))


def test_what_follows_on_an_attempt():
    clients = Clients(ClientModel(), 1)
    thinks = {step: clients.think_time_s(TEST, step) for step in range(1, 200)}
    reloaded = gone = 0
    for step in range(100):
        # Answered, dropped or failed: the next request after the think time.
        assert clients.after(TEST, step, 1, left=False) == Turn(step + 1, 1, thinks[step + 1])
        turn = clients.after(TEST, step, 1, left=True)
        if clients.reloads(TEST, step, 1):
            reloaded += 1
            assert turn == Turn(step, 2, 0.0)
        else:
            gone += 1
            away_s = clients.away_s(TEST, step)
            assert turn == Turn(step + 1, 1, pytest.approx(away_s + thinks[step + 1]))
    assert min(reloaded, gone) > 10
    assert clients.first(TEST) == Turn(0, 1, clients.think_time_s(TEST, 0))


def test_nobody_reloads_for_ever():
    clients = Clients(ClientModel(reload_probability=1), 1)
    assert all(clients.reloads(TEST, 0, attempt) for attempt in range(1, MOST_RELOADS + 1))
    assert clients.after(TEST, 0, MOST_RELOADS + 1, left=True).step == 1
    never = Clients(ClientModel(reload_probability=0), 1)
    assert not any(never.reloads(TEST, step, 1) for step in range(1000))


def test_a_client_is_the_same_whatever_was_drawn_before_and_another_with_another_seed():
    addresses = [
        (client, step, nth) for client in (0, 9, 17) for step in range(40) for nth in (1, 2)
    ]

    def draws(clients, order):
        return {
            (client, step, nth): (
                clients.kind(client, step),
                clients.think_time_s(client, step),
                clients.patience_s(client, step, nth),
                clients.reloads(client, step, nth),
                clients.away_s(client, step),
            )
            for client, step, nth in order
        }

    in_order = draws(Clients(ClientModel(), 7), addresses)
    shuffled = list(addresses)
    Random(1).shuffle(shuffled)
    assert draws(Clients(ClientModel(), 7), shuffled) == in_order
    assert draws(Clients(ClientModel(), 8), addresses) != in_order
    patience = [
        Clients(ClientModel(), 7).patience_s(client, step, nth)
        for client, step, nth in addresses
        if client >= 9
    ]
    assert len(set(patience)) == len(patience)


def test_the_clients_of_a_seed_stay_who_they_are():
    # Results that were kept can be drawn again. Recorded when the clients came into the project.
    clients = Clients(ClientModel(), 9)
    assert " ".join(clients.kind(0, step) for step in range(8)) == (
        "file file search file home file home search"
    )
    assert clients.think_time_s(0, 0) == pytest.approx(2.210841531365, rel=1e-10)
    assert clients.think_time_s(17, 5) == pytest.approx(0.4547892760776, rel=1e-10)
    assert clients.patience_s(12, 3, 2) == pytest.approx(7.299394314086, rel=1e-10)
    assert clients.away_s(12, 3) == pytest.approx(31.81596559197, rel=1e-10)
    reloads = [clients.reloads(12, 3, attempt) for attempt in range(1, 9)]
    assert reloads == [False, True, True, True, False, True, True, True]


def test_every_attempt_has_a_place_of_its_own_and_fits_into_the_log():
    clients, steps, attempts = (0, 1, 2 * MOST_PER_SET), (0, 1, 32_767), (0, 1, MOST_RELOADS + 1)
    places = {place(i, k, j) for i in clients for k in steps for j in attempts}
    assert len(places) == len(clients) * len(steps) * len(attempts)
    assert SCHEMA.field("step").type == SCHEMA.field("attempt").type == "int16"
    # The number of requests in a run of the longest kind is at most Poisson: 90 deviations off.
    assert MOST_STEPS + 90 * math.sqrt(MOST_STEPS) < 32_767


def test_parameters_are_json_and_a_model_travels():
    model = ClientModel(per_set=3, mix={"search": 2, "home": 1})
    found = json.loads(json.dumps(model.parameters()))
    assert found == {
        "per_set": 3,
        "patience_max_s": 7.5,
        "think_time_mean_s": 3.5,
        "reload_probability": 0.75,
        "away_mean_s": 15.0,
        "mix": {"home": 1, "search": 2},
    }
    assert ClientModel(**found) == model
    assert pickle.loads(pickle.dumps(model)) == model


def test_a_run_is_as_long_as_a_log_has_room_for():
    model = ClientModel(think_time_mean_s=0.5)
    model.require_duration(10_000)
    with pytest.raises(SessionModelError, match=r"^duration_s: 10001: with a think time of 0\.5 s"):
        model.require_duration(10_001)
    for wrong in (0, -1, math.inf, math.nan):
        with pytest.raises(SessionModelError, match=r"^duration_s: "):
            model.require_duration(wrong)


@pytest.mark.parametrize(
    ("field", "value"),
    [
        ("per_set", 0),
        ("per_set", MOST_PER_SET + 1),
        ("patience_max_s", 0.0),
        ("patience_max_s", math.inf),
        ("patience_max_s", math.nan),
        ("think_time_mean_s", 0.0),
        ("think_time_mean_s", math.inf),
        ("reload_probability", 1.1),
        ("reload_probability", math.nan),
        ("away_mean_s", -0.1),
        ("away_mean_s", math.nan),
        ("away_mean_s", math.inf),
        ("mix", {}),
        ("mix", {"home": 0}),
        ("mix", {"cart": 1}),
    ],
)
def test_a_wrong_parameter_is_refused_by_name(field, value):
    with pytest.raises(SessionModelError) as refusal:
        ClientModel(**{field: value})
    assert refusal.value.field == field
    assert str(refusal.value).startswith(f"{field}: ")
    assert "\n" not in str(refusal.value)


@pytest.mark.parametrize("weight", [-1, math.nan, math.inf])
def test_a_wrong_weight_is_refused_by_the_name_of_its_kind(weight):
    with pytest.raises(SessionModelError, match=r"^mix\.home: .* is not a weight; give 0 or more$"):
        ClientModel(mix={"home": weight, "file": 1})

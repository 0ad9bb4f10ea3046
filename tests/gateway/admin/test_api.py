"""The admin API: its answers, its refusals, and its callers."""

import asyncio

import pytest

from gateway.admin.server import MOST_CONNECTIONS
from gateway.policies.interface import PAGES
from gateway.queues.dispatcher import FATES
from gateway.queues.policy_choice import PolicyChoice
from tests.fake_shop.in_loop import Shop
from tests.gateway.real_sockets import bed, run


def calls(*scripts, **settings):
    """Return the answers to calls, one after the other, of one new gateway."""

    async def scene():
        async with bed(**settings) as b:
            return [await b.admin(*script) for script in scripts]

    return run(scene())


def test_the_snapshot_says_everything_at_once():
    ((status, snapshot),) = calls(("GET", "/snapshot"), policy="8q-lifo-pri", workers=7)
    assert status == 200
    assert snapshot["policy"]["name"] == "8q-lifo-pri"
    assert snapshot["policy"]["parameters"]["browsing_capacity"] == 50
    assert "discipline" in snapshot["policy"]["snapshot"]
    assert (snapshot["workers"], snapshot["in_service"], snapshot["waiting"]) == (7, 0, 0)
    assert set(snapshot["counts"]) == {*PAGES, "other"}
    for fates in snapshot["counts"].values():
        assert set(fates) == set(FATES)
    assert set(snapshot["waiting_by_page"]) == set(PAGES)
    assert "not reachable" in snapshot["load"]["error"]


async def test_who_waits_is_told_oldest_first():
    async with bed(Shop(is_held=True), workers=1) as b:
        askers = []
        for target in ("/", "/books/1/", "/search/?q=x", "/"):
            askers.append(asyncio.ensure_future(b.get(target)))
            await b.until(lambda: b.gateway.parts.pages.requests == len(askers))
        _, writer = await b.connect()
        writer.write(b"GET / HTTP/1.1\r\nHost: shop\r\n\r\n")
        await b.until(lambda: b.gateway.parts.pages.requests == 5)
        writer.close()
        await b.until(lambda: b.gateway.figures.abandonment()["left_waiting"] == 1)
        status, whole = await b.admin("GET", "/waiting")
        _, shortened = await b.admin("GET", "/waiting?limit=2")
        b.shop.let_go(5)
        await asyncio.gather(*askers)
    assert status == 200
    assert [page for _, page, _, _ in whole["requests"]] == ["Br-4", "Br-3", "Br-1", "Br-1"]
    assert [left for *_, left in whole["requests"]] == [False, False, False, True]
    waited = [waited_s for _, _, waited_s, _ in whole["requests"]]
    assert waited == sorted(waited, reverse=True)
    assert waited[-1] >= 0
    assert [id for id, *_ in shortened["requests"]] == [id for id, *_ in whole["requests"][:2]]
    assert whole["waiting"] == shortened["waiting"] == 4


@pytest.mark.parametrize("limit", ["0", "1001", "x", "", "-1"])
def test_a_limit_that_cannot_be(limit):
    (status, answer), (other_status, other) = calls(
        ("GET", f"/waiting?limit={limit}"), ("GET", "/waiting?most=2")
    )
    assert (status, answer["field"]) == (400, "limit")
    assert answer["allowed"] == "a whole number from 1 to 1000"
    assert (other_status, other["field"], other["allowed"]) == (400, "most", "limit")


def test_admission_is_chosen_beside_the_policy():
    admission = {"name": "sbac", "parameters": {"ac_weight": 0.3}}
    (status, put), (_, snapshot), (_, without), (_, after) = calls(
        ("PUT", "/policy", {"name": "8q-lifo-pri", "admission": admission}),
        ("GET", "/snapshot"),
        ("PUT", "/policy", {"name": "sq"}),
        ("GET", "/snapshot"),
    )
    assert status == 200
    for policy in (put, snapshot["policy"]):
        assert policy["name"] == "8q-lifo-pri"
        assert policy["admission"]["name"] == "sbac"
        assert policy["admission"]["parameters"]["ac_weight"] == 0.3
        assert policy["admission"]["parameters"]["retry_after_s"] == 300
        assert policy["snapshot"]["admission"]["admits"] is True
    none = {"name": "none", "parameters": {}}
    assert without["admission"] == after["policy"]["admission"] == none
    assert "admission" not in after["policy"]["snapshot"]


def test_admission_at_the_start():
    ((_, snapshot),) = calls(
        ("GET", "/snapshot"), admission="sbac", admission_parameters={"ac_threshold": 0.8}
    )
    assert snapshot["policy"]["admission"]["parameters"]["ac_threshold"] == 0.8


def test_a_policy_is_switched_with_its_parameters():
    switched, (_, snapshot) = calls(
        ("PUT", "/policy", {"name": "sq", "parameters": {"capacity": 7}}), ("GET", "/snapshot")
    )
    assert switched[0] == 200
    assert snapshot["policy"]["parameters"] == {"capacity": 7}


@pytest.mark.parametrize(
    ("call", "field"),
    [
        ({"name": "none"}, "name"),
        ({"name": 7}, "name"),
        ({"parameters": {}}, "name"),
        ({"name": "sq", "parameters": {"size": 1}}, "parameters.size"),
        ({"name": "sq", "parameters": {"capacity": "x"}}, "parameters.capacity"),
        ({"name": "sq", "parameters": 1}, "parameters"),
        ({"name": "sq", "extra": 1}, "extra"),
        ({"name": "sq", "source": "x = 1"}, "source"),
        ({"name": "quiet_door", "source": "x = 1"}, "source"),
        ({"name": "sq", "admission": {"name": "sq"}}, "admission.name"),
        ({"name": "sq", "admission": {}}, "admission.name"),
        ({"name": "sq", "admission": "sbac"}, "admission"),
        ({"name": "sq", "admission": None}, "admission"),
        ({"name": "sq", "admission": {"name": "sbac", "k": 1}}, "admission.k"),
        ({"name": "sq", "admission": {"name": "sbac", "parameters": 1}}, "admission.parameters"),
        (
            {"name": "always-lifo", "admission": {"name": "sbac", "parameters": {"k": 1}}},
            "admission.parameters.k",
        ),
        (
            {"name": "sq", "admission": {"name": "sbac", "parameters": {"ac_weight": 2}}},
            "admission.parameters.ac_weight",
        ),
        ([], "body"),
    ],
)
def test_a_policy_that_cannot_be_changes_nothing(call, field):
    (status, answer), (_, snapshot) = calls(("PUT", "/policy", call), ("GET", "/snapshot"))
    assert status == 400
    assert answer["field"] == field
    assert answer["error"].startswith(f"{field}: ")
    assert answer["allowed"]
    assert snapshot["policy"]["name"] == "sq"
    assert snapshot["policy"]["parameters"] == {"capacity": 100}
    assert snapshot["policy"]["admission"] == {"name": "none", "parameters": {}}


def test_paper_time_is_set():
    (_, before), answer, (_, after) = calls(
        ("GET", "/snapshot"),
        ("PUT", "/settings", {"time_scale": 2, "utilisation_interval_s": 5}),
        ("GET", "/snapshot"),
    )
    said = {"time_scale": 2.0, "utilisation_interval_s": 5.0, "abandonment": "ignore"}
    assert answer == (200, said)
    assert after["time_scale"] == 2
    assert after["time_s"] >= before["time_s"]


@pytest.mark.parametrize(
    ("call", "field"),
    [
        ({"time_scale": 0}, "time_scale"),
        ({"time_scale": "fast"}, "time_scale"),
        ({"time_scale": True}, "time_scale"),
        ({"abandonment": "forget"}, "abandonment"),
        ({"abandonment": None}, "abandonment"),
        ({"abandonment": ["cancel"]}, "abandonment"),
        ({"utilisation_interval_s": -1}, "utilisation_interval_s"),
        ({"utilisation_interval_s": 1e9}, "utilisation_interval_s"),
        ({"time_scale": 5, "pace": 1}, "pace"),
    ],
)
def test_settings_that_cannot_be_change_nothing(call, field):
    (status, answer), (_, snapshot) = calls(("PUT", "/settings", call), ("GET", "/snapshot"))
    assert (status, answer["field"]) == (400, field)
    assert snapshot["time_scale"] == 10


@pytest.mark.parametrize(
    ("call", "status"),
    [
        (("GET", "/nothing"), 404),
        (("PUT", "/health", {}), 405),
        (("POST", "/policy", {"name": "sq"}), 405),
        (("PUT", "/policy", {"name": "sq"}, b"Content-Type: text/plain\r\n"), 415),
    ],
)
def test_calls_that_do_not_exist(call, status):
    ((got, answer),) = calls(call)
    assert got == status
    assert answer["error"]


@pytest.mark.parametrize(
    ("fields", "status"),
    [
        (b"Host: localhost:8081\r\n", 200),
        (b"Host: [::1]:8081\r\n", 200),
        (b"Host: LOCALHOST\r\n", 200),
        (b"Host: evil.example:8081\r\n", 403),
        (b"Host: localhost.evil.example\r\n", 403),
        (b"Host: 127.0.0.1.evil.example\r\n", 403),
        (b"Host: localhost:1\r\nOrigin: http://localhost:1\r\n", 200),
        (b"Host: localhost:1\r\nOrigin: http://evil.example\r\n", 403),
        (b"Host: localhost:1\r\nOrigin: null\r\n", 403),
        (b"Host: localhost:1\r\nOrigin: http://localhost:2\r\n", 403),
    ],
)
def test_no_web_page_drives_it(fields, status):
    ((got, _),) = calls(("GET", "/snapshot", None, fields))
    assert got == status


@pytest.mark.parametrize(
    ("host", "status"),
    [
        (b"gateway:8081", 200),
        (b"Gateway", 200),
        (b"added:8081", 200),
        (b"0.0.0.0:8081", 403),
        (b"shop:8081", 403),
    ],
)
def test_the_name_by_which_it_is_reached_and_added_names_count(host, status):
    hosts = {"admin_host": "0.0.0.0", "reached_host": "gateway", "admin_names": "other, added"}
    ((got, _),) = calls(("GET", "/health", None, b"Host: %b\r\n" % host), **hosts)
    assert got == status


async def test_metrics_are_prometheus():
    async with bed() as b:
        for target in ("/", "/static/x"):
            await b.get(target)
        await b.talk(b"\x00")
        await b.until(lambda: b.gateway.figures.counts()["other"]["answered"] == 1)
        status, text = await b.admin("GET", "/metrics")
    assert status == 200
    for line in (
        'doorbuster_gateway_arrivals_total{page="Br-1"} 1.0',
        'doorbuster_gateway_arrivals_total{page="other"} 1.0',
        'doorbuster_gateway_refusals_total{status="400"} 1.0',
        'doorbuster_gateway_response_paper_seconds_count{outcome="answered",page="Br-1",'
        'policy="sq"} 1.0',
        "doorbuster_gateway_workers 30.0",
        'doorbuster_gateway_policy_info{abandonment="ignore",admission="none",'
        'connection_admission="none",policy="sq"} 1.0',
        "process_start_time_seconds ",
    ):
        assert line in text


async def test_metrics_of_admission():
    async with bed(admission="sbac-responsive") as b:
        await b.get()
        _, text = await b.admin("GET", "/metrics")
    for name, value in (
        ("admitted_sessions_total", 1),
        ("rejected_sessions_total", 0),
        ("predicted_utilisation_ratio", 0.95),
        ("weight_ratio", 1),
        ("open", 1),
    ):
        labels = 'policy="sq+sbac-responsive"'
        assert f"doorbuster_gateway_admission_{name}{{{labels}}} {float(value)}" in text
    assert "admission_quota_sessions{" not in text  # this policy has none


async def test_nonsense_gets_an_answer_too():
    async with bed() as b:
        reader, writer = await asyncio.open_connection("127.0.0.1", b.gateway.admin_port)
        writer.write(b"GET / HTTP/1.1\nHost: x\n\n")
        assert (await reader.read()).startswith(b"HTTP/1.1 400 ")
        writer.close()


async def test_shadows_are_asked_for_by_name_and_told_of_everything():
    listed = [
        {"name": "sq"},
        {"name": "door-lifo", "parameters": {"hands": 4}, "admission": {"name": "sbac"}},
    ]

    async with bed(workers=2) as b:
        status, put = await b.admin("PUT", "/shadows", {"policies": listed})
        answers = await asyncio.gather(*(b.get("/") for _ in range(6)))
        assert all(b"Set-Cookie: doorbuster_session=" in answer for answer in answers)
        await b.until(lambda: b.gateway.parts.pages.requests == 0)
        _, told = await b.admin("GET", "/shadows")
        _, snapshot = await b.admin("GET", "/snapshot")
        _, metrics = await b.admin("GET", "/metrics")
        _, off = await b.admin("PUT", "/shadows", {"policies": []})
        answer = await b.get("/")
        assert b"Set-Cookie" not in answer
        assert b.gateway.parts.pages.dispatcher.observer is None
    assert status == 200
    names = ["sq", "door-lifo+sbac (hands 4)"]
    assert [one["name"] for one in put["shadows"]] == names
    own, door = told["shadows"]
    assert own["policy"]["parameters"] == {"capacity": 100}
    assert (own["fault"], own["asked"], own["agrees_ratio"]) == ("", 6, 1.0)
    assert own["disagreements"] == []
    assert door["asked"] == 6
    assert door["policy"]["admission"]["name"] == "sbac"
    assert [one["verdicts"] for one in snapshot["shadows"]] == [own["verdicts"], door["verdicts"]]
    line = 'doorbuster_gateway_shadow_requests_total{policy="sq",verdict="same"} 6.0'
    assert line in metrics
    assert off["shadows"] == []


@pytest.mark.parametrize(
    ("call", "field"),
    [
        ({}, "policies"),
        ({"policies": "sq"}, "policies"),
        ({"policies": [{"name": "sq"}] * 9}, "policies"),
        ({"policies": [], "more": 1}, "more"),
        ({"policies": ["sq"]}, "policies.0"),
        ({"policies": [{"name": "sq"}, {"name": "lifo"}]}, "policies.1.name"),
        ({"policies": [{"parameters": {}}]}, "policies.0.name"),
        ({"policies": [{"name": "sq", "size": 1}]}, "policies.0.size"),
        ({"policies": [{"name": "sq", "parameters": {"capacity": 0}}]},
         "policies.0.parameters.capacity"),
        ({"policies": [{"name": "sq", "admission": {"name": "sq"}}]}, "policies.0.admission.name"),
        ({"policies": [{"name": "sq", "source": 1}]}, "policies.0.source"),
        ({"policies": [{"name": "sq", "source": "x = 1"}]}, "policies.0.source"),
        ({"policies": [{"name": "sq"}, {"name": "sq", "parameters": {"capacity": 100}}]},
         "policies.1"),
        ({"policies": [{"name": "own/no_such.py"}]}, "policies.0.name"),
    ],
)  # fmt: skip
def test_shadows_that_cannot_be(call, field):
    kept, (status, answer), (_, after) = calls(
        ("PUT", "/shadows", {"policies": [{"name": "8q-af"}]}),
        ("PUT", "/shadows", call),
        ("GET", "/shadows"),
    )
    assert kept[0] == 200
    assert (status, answer["field"]) == (400, field)
    assert answer["error"].startswith(field)
    assert [one["name"] for one in after["shadows"]] == ["8q-af"]


async def test_one_shadow_more_and_one_less_leave_the_others_as_they_are():
    door = {"name": "door-lifo", "parameters": {"hands": 4}}

    async with bed() as b:
        await b.admin("PUT", "/shadows", {"policies": [{"name": "sq"}]})
        (kept,) = b.gateway.parts.shadow_policies.entries
        added = await b.admin("POST", "/shadows", door)
        twice = await b.admin("POST", "/shadows", door)
        wrong = await b.admin("POST", "/shadows", {"name": "lifo"})
        one_less = await b.admin("DELETE", "/shadows/door-lifo%20(hands%204)")
        again = await b.admin("DELETE", "/shadows/door-lifo%20(hands%204)")
        assert b.gateway.parts.shadow_policies.entries == (kept,)
        none = await b.admin("DELETE", "/shadows/sq")
        assert b.gateway.parts.pages.dispatcher.observer is None
        wrong_method, _ = await b.admin("GET", "/shadows/sq")
    assert [one["name"] for one in added[1]["shadows"]] == ["sq", "door-lifo (hands 4)"]
    assert (twice[0], twice[1]["error"]) == (409, "door-lifo (hands 4) is a shadow already")
    assert (wrong[0], wrong[1]["field"]) == (400, "name")
    assert [one["name"] for one in one_less[1]["shadows"]] == ["sq"]
    assert again[0] == 404
    assert again[1] == {
        "error": "door-lifo (hands 4) is not a shadow; allowed: sq",
        "field": "name",
        "allowed": "sq",
    }
    assert none[1]["shadows"] == []
    assert wrong_method == 405


async def test_taking_away_what_is_not_there_overtakes_nobody():
    async with bed() as b:
        turns = b.gateway.api.shadow_order
        earlier = turns.ask()
        status, answer = await b.admin("DELETE", "/shadows/sq")
        assert (status, answer["allowed"]) == (404, "none")
        turns.take(earlier)  # else it raises


def test_a_ninth_shadow_is_refused():
    *_, eighth, ninth = calls(
        *(
            ("POST", "/shadows", {"name": "sq", "parameters": {"capacity": capacity}})
            for capacity in range(1, 10)
        )
    )
    assert (eighth[0], len(eighth[1]["shadows"])) == (200, 8)
    assert (ninth[0], ninth[1]["error"]) == (409, "there are already 8 shadows")


def test_a_label_has_what_is_not_its_default():
    choice = PolicyChoice("8q-af", {"utility": {"Br-2": 7, "Br-1": 27}, "browsing_capacity": 50})
    assert choice.label == "8q-af (utility Br-2 7)"
    assert PolicyChoice("sq", {"capacity": 1_000_000}).label == "sq (capacity 1000000)"


TOKEN = "a-token-of-the-tests-alone"


@pytest.mark.parametrize(
    ("fields", "status"),
    [
        (b"", 401),
        (b"Authorization: Bearer \r\n", 401),
        (b"Authorization: Bearer another-token-of-that-form\r\n", 401),
        (b"Authorization: Basic %b\r\n" % TOKEN.encode(), 401),
        (b"Authorization: Bearer %b\r\n" % TOKEN.encode(), 200),
    ],
)
@pytest.mark.parametrize(
    "call", [("GET", "/snapshot"), ("PUT", "/policy"), ("DELETE", "/shadows/x")]
)
def test_where_the_token_is_required_calls_need_it(call, fields, status):
    """A call without the right token is refused in one line, which names the place of the token."""
    method, path = call
    body = {"name": "sq"} if method == "PUT" else None
    given = {"inner_token": TOKEN, "inner_token_required": True}
    ((got, answer),) = calls((method, path, body, fields), **given)
    if status == 401:
        assert got == 401
        assert "make token" in answer["error"]
        assert "secrets.json" in answer["error"]
        assert "\n" not in answer["error"]
    else:
        assert got == (404 if method == "DELETE" else 200)


def test_health_and_metrics_need_no_token():
    """Health checks and Prometheus send no token."""
    given = {"inner_token": TOKEN, "inner_token_required": True}
    assert [got for got, _ in calls(("GET", "/health"), ("GET", "/metrics"), **given)] == [200, 200]


def test_a_known_token_that_is_not_required_is_not_asked_for():
    """A gateway that sends the token to the shop demands it of callers only if the
    setting is on."""
    assert calls(("GET", "/snapshot"), inner_token=TOKEN)[0][0] == 200


async def test_waiting_connections_keep_no_caller_out():
    """With all places taken, the oldest connection without a call gives way to a new one."""

    async with bed(inner_token=TOKEN, inner_token_required=True) as b:
        fields = b"Authorization: Bearer %b\r\n" % TOKEN.encode()
        port = b.gateway.admin_port
        kept, writer = await asyncio.open_connection("127.0.0.1", port)
        writer.write(b"GET /policies HTTP/1.1\r\nHost: localhost\r\n%b\r\n" % fields)
        await kept.readuntil(b"\r\n\r\n")
        waiting = []
        for _ in range(2 * MOST_CONNECTIONS):
            waiting.append(await asyncio.open_connection("127.0.0.1", port))
            waiting[-1][1].write(b"GET /health HTTP/1.1\r\n")
        assert (await b.admin("GET", "/snapshot", None, fields))[0] == 200
        writer.write(b"GET /health HTTP/1.1\r\nHost: localhost\r\n\r\n")
        assert await kept.readuntil(b'{"status": "ok"}')  # the caller that is known has stayed
        for _, one in [(kept, writer), *waiting]:
            one.transport.abort()

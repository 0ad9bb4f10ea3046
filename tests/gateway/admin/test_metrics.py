"""The metrics for Prometheus."""

from prometheus_client import CollectorRegistry, generate_latest
from prometheus_client.parser import text_string_to_metric_families

from gateway.admin.metrics import (
    BUCKETS_S,
    CHOICES,
    LONGEST_LABEL,
    MOST_QUEUES,
    GatewayMetrics,
    ResponseTimes,
)


class Figures:
    def counts(self):
        return {"Br-1": {"arrived": 3, "dispatched": 2, "abandoned_waiting": 1, "withdrawn": 1}}

    def gauges(self):
        return {
            "workers": ("Workers", 30),
            "load_samples_total": ("Samples", 4),
            "assigned_processors": ("Processors", None),
        }

    def refusals(self):
        return {503: 7}

    def waiting(self):
        return {"Br-1": 5}

    def shadow_counts(self):
        return {"sq": {"same": 6, "would_refuse": 1}}

    def connections(self):
        return {
            "new": 5, "resumed": 2, "accepted_new": 4, "refused": 1, "handshake_failed": 3,
            "handshake_timed_out": 6, "evicted": 9, "turned_away": 7, "under_way": 8,
        }  # fmt: skip

    def in_force(self):
        return {
            "policy": "8q-af",
            "admission": "sbac-stable",
            "abandonment": "cancel",
            "connection_admission": "eac",
        }

    def policy(self):
        return "8q-af+sbac-stable", {
            "discipline": "FIFO",
            "queues": {"Br-1": 5},
            "capacities": {"Br-1": 50},
            "admission": {"admits": True, "quota": None, "admitted": 9},
        }

    def connection_admission(self):
        return {"predicted_new": 3.5, "predicted_resumed": None, "acceptable_new": 2}


def families():
    times = ResponseTimes("sq")
    for response_s in (0.05, 0.1, 0.11, 1000):
        times.add("sq", "Br-1", "answered", response_s)
    text = GatewayMetrics(Figures(), times).text().decode()
    return {family.name: family for family in text_string_to_metric_families(text)}


def test_names_and_labels_follow_the_convention():
    for name, family in families().items():
        if name.startswith("process_"):  # the client library's own
            continue
        assert name.startswith("doorbuster_gateway_")
        for sample in family.samples:
            known = {"page", "outcome", "status", "le", "kind", "queue", "discipline", "verdict"}
            known |= {*CHOICES}
            assert set(sample.labels) <= known


def test_buckets_are_cumulative_and_inclusive():
    samples = families()["doorbuster_gateway_response_paper_seconds"].samples
    buckets = {s.labels["le"]: s.value for s in samples if s.name.endswith("_bucket")}
    assert buckets["0.1"] == 2
    assert buckets["0.2"] == 3
    assert buckets[f"{BUCKETS_S[-1]:g}"] == 3
    assert buckets["+Inf"] == 4


def test_counters_and_gauges():
    known = families()
    assert known["doorbuster_gateway_load_samples"].type == "counter"
    assert known["doorbuster_gateway_workers"].samples[0].value == 30
    assert known["doorbuster_gateway_refusals"].samples[0].labels == {"status": "503"}
    assert known["doorbuster_gateway_waiting_requests"].samples[0].value == 5


def test_what_is_in_force_is_one_series():
    (info,) = families()["doorbuster_gateway_policy_info"].samples
    assert (info.labels, info.value) == (Figures().in_force(), 1)


def test_what_a_policy_says_of_itself():
    known = families()

    def values(name):
        return {
            tuple(sample.labels.values()): sample.value
            for sample in known[f"doorbuster_gateway_{name}"].samples
        }

    assert values("queue_requests") == {("Br-1",): 5}
    assert values("queue_capacity_requests") == {("Br-1",): 50}
    assert values("shadow_requests") == {("sq", "same"): 6, ("sq", "would_refuse"): 1}
    assert values("discipline_info") == {("FIFO",): 1}
    assert values("admission_open") == {("8q-af+sbac-stable",): 1}
    assert values("admission_admitted_sessions") == {("8q-af+sbac-stable",): 9}
    assert values("connection_admission_predicted_connections") == {("new",): 3.5}


def test_what_is_not_known_has_no_value_and_is_there_all_the_same():
    known = families()
    for name in ("admission_quota_sessions", "queue_priority", "assigned_processors"):
        assert known[f"doorbuster_gateway_{name}"].samples == []


def test_response_times_are_written_as_the_library_writes_them():
    class Of:
        def collect(self):
            yield times.family()

    times = ResponseTimes("8q-af+sbac-stable")
    for number in range(200):
        page, outcome = f"Br-{number % 3}", ("answered", "dropped")[number % 2]
        times.add("8q-af+sbac-stable", page, outcome, number / 1.5)
    registry = CollectorRegistry()
    registry.register(Of())
    assert times.text().encode() == generate_latest(registry)


class Naming(Figures):
    """A student's policy that takes new names at each scrape."""

    scrapes = 0

    def policy(self):
        self.scrapes += 1
        queues = {f"q{self.scrapes}-{number}": 1 for number in range(30)}
        return "mine", {"discipline": f"order {self.scrapes}", "queues": queues}

    def shadow_counts(self):
        return {"x" * 5_000 + end: {"same": 1} for end in ("a", "b")}


def read(metrics):
    text = metrics.text().decode()
    return {family.name: family for family in text_string_to_metric_families(text)}


def labels(family, label):
    return {sample.labels[label] for sample in family.samples}


def test_new_names_make_no_new_series():
    """After a thousand scrapes there are as many queues and disciplines as allowed, and `other`."""
    metrics = GatewayMetrics(Naming(), ResponseTimes("mine"))
    seen = {"queue_requests": set(), "discipline_info": set()}
    for _ in range(1_000):
        metrics.text()
    for _ in range(3):
        found = read(metrics)
        for name, label in (("queue_requests", "queue"), ("discipline_info", "discipline")):
            seen[name] |= labels(found[f"doorbuster_gateway_{name}"], label)
    assert seen == {"queue_requests": {"other"}, "discipline_info": {"other"}}
    (other,) = found["doorbuster_gateway_queue_requests"].samples
    assert other.value == 30


def test_the_first_names_keep_their_series_until_the_policy_goes():
    """A new policy gives its names from the beginning."""
    metrics = GatewayMetrics(Naming(), ResponseTimes("mine"))
    first = labels(read(metrics)["doorbuster_gateway_queue_requests"], "queue")
    assert first == {*(f"q1-{number}" for number in range(MOST_QUEUES)), "other"}
    metrics.switched("mine")
    assert "q2-0" in labels(read(metrics)["doorbuster_gateway_queue_requests"], "queue")


def test_long_names_are_cut_and_stay_apart():
    """Two shadows whose names begin with the same letters are two series."""
    found = read(GatewayMetrics(Naming(), ResponseTimes("mine")))
    names = labels(found["doorbuster_gateway_shadow_requests"], "policy")
    assert len(names) == 2
    assert max(map(len, names)) <= LONGEST_LABEL


def test_a_policy_that_is_gone_is_told_once_more_and_forgotten():
    """Prometheus gets its last values; they do not stay for good."""
    times = ResponseTimes("sq")
    metrics = GatewayMetrics(Figures(), times)
    times.add("sq", "Br-1", "answered", 0.5)
    metrics.switched("mine")
    times.add("mine", "Br-1", "answered", 0.5)
    name = "doorbuster_gateway_response_paper_seconds"
    assert labels(read(metrics)[name], "policy") == {"sq", "mine"}
    assert labels(read(metrics)[name], "policy") == {"mine"}


def test_without_scrapes_past_policies_are_forgotten_too():
    """A thousand switches leave the policy in force and the one before it."""
    times = ResponseTimes("p0")
    for number in range(1_000):
        times.add(f"p{number}", "Br-1", "answered", 0.5)
        times.switched(f"p{number + 1}")
    assert {sample.labels["policy"] for sample in times.family().samples} == {"p999"}


def test_the_same_policy_put_in_again_goes_on():
    """Its counts do not begin at 0 again."""
    times = ResponseTimes("sq")
    times.add("sq", "Br-1", "answered", 0.5)
    times.switched("sq")
    assert times.text() == times.text()
    assert 'policy="sq"' in times.text()

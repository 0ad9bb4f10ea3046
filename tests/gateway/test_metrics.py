"""The figures for Prometheus."""

from prometheus_client import CollectorRegistry, generate_latest
from prometheus_client.parser import text_string_to_metric_families

from gateway.metrics import BUCKETS_S, CHOICES, GatewayMetrics, ResponseTimes


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
    times = ResponseTimes()
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

    times = ResponseTimes()
    for number in range(200):
        page, outcome = f"Br-{number % 3}", ("answered", "dropped")[number % 2]
        times.add("8q-af+sbac-stable", page, outcome, number / 1.5)
    registry = CollectorRegistry()
    registry.register(Of())
    assert times.text().encode() == generate_latest(registry)

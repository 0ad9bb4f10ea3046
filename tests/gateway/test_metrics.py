"""The figures for Prometheus."""

from prometheus_client.parser import text_string_to_metric_families

from gateway.metrics import BUCKETS_S, GatewayMetrics, ResponseTimes


class Figures:
    def counts(self):
        return {"Br-1": {"arrived": 3, "dispatched": 2, "abandoned_waiting": 1, "withdrawn": 1}}

    def gauges(self):
        return {"workers": ("Workers", 30), "load_samples_total": ("Samples", 4)}

    def refusals(self):
        return {503: 7}

    def waiting(self):
        return {"Br-1": 5}

    def connections(self):
        return "eac", {
            "new": 5, "resumed": 2, "accepted_new": 4, "refused": 1, "handshake_failed": 3,
            "handshake_timed_out": 6, "turned_away": 7, "under_way": 8,
        }  # fmt: skip

    def policy(self):
        return "sq", {"discipline": "FIFO"}


def families():
    times = ResponseTimes()
    for response_s in (0.05, 0.1, 0.11, 1000):
        times.add("sq", "Br-1", "answered", response_s)
    text = GatewayMetrics(Figures(), times).text().decode()
    return {family.name: family for family in text_string_to_metric_families(text)}


def test_names_and_labels_follow_the_convention():
    for name, family in families().items():
        assert name.startswith("doorbuster_gateway_")
        for sample in family.samples:
            known = {"policy", "page", "outcome", "status", "le", "admission", "kind"}
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

"""The state of the parts in the samples of a run."""

import pytest

from lab.engines.live.sampling import Age, Sampler
from tests.gateway.real_sockets import bed, run
from tests.waiting import until


def at(time_s, cpu_s=None, requests=0):
    load = None if cpu_s is None else {"status": {"cpu_s": cpu_s, "requests": requests}}
    return {"time_s": time_s, "load": load}


@pytest.mark.parametrize(
    ("snapshots", "who"),
    [
        ([at(10, 5), at(11, 6), at(12, 6)], ["", "", ""]),
        ([at(10, 5), at(1, 6)], ["", "gateway"]),
        ([at(10, 5), at(11, 2)], ["", "shop"]),
        ([at(10, 5, 70), at(11, 6, 8)], ["", "shop"]),  # it took so much to start
        ([at(10, 5), at(11), at(12, 6)], ["", "", ""]),  # asked in vain for a while
        ([at(10, 5), at(11), at(12, 2)], ["", "", "shop"]),
        ([at(10, 5), at(1), at(2, 6)], ["", "gateway", ""]),
    ],
)
def test_a_part_that_has_become_younger_was_started_anew(snapshots, who):
    age = Age()
    assert [age.younger(snapshot) for snapshot in snapshots] == who


def test_a_gateway_that_exports_traces_is_in_the_samples():

    async def snapshot(**settings):
        async with bed(**settings) as b:
            return b.gateway.figures.snapshot()

    class Appliance:
        """An appliance whose gateway never changes."""

        def __init__(self, **settings):
            self.now = run(snapshot(**settings))

        def again(self):
            return self

        def snapshot(self):
            return self.now

        def close(self):
            pass

    traced = {"telemetry_endpoint": "http://127.0.0.1:1", "telemetry_sampled_ratio": 0.25}
    for settings, ratio in (({}, 0.0), (traced, 0.25)):
        sampler = Sampler(Appliance(**settings), time_scale=10, interval_s=1)
        sampler.start()
        until(lambda rows=sampler.rows: len(rows) > 1)
        sampler.stop()
        assert sampler.traced_ratio == ratio

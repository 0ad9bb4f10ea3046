"""The source of the counts on the page, and their continuity from one proxy to the next."""

from lab.console.watch.proxies import InPlace


def gateway(arrived, time_s=1.0):
    return {
        "time_s": time_s,
        "policy": {"name": "sq"},
        "waiting": 0,
        "load": {"busy_workers": 30},
        "counts": {"Br-1": {"arrived": arrived}, "ads": {"arrived": 7}},
    }


def proxy(arrived):
    counts = {"Br-1": {"arrived": arrived}, "other": {"arrived": 1}}
    return {"policy": {"name": "haproxy"}, "waiting": 3, "counts": counts}


def test_without_a_proxy_the_gateways_figures_are_shown():
    assert InPlace().look(gateway(100), None) == gateway(100) | {"gateway": 1}


def test_counts_go_on_from_the_gateways():
    found = InPlace().look(gateway(100), proxy(5))
    assert found["policy"] == {"name": "haproxy"}
    assert found["load"] == {"busy_workers": 30}
    assert found["waiting"] == 3
    assert found["counts"] == {"Br-1": {"arrived": 105}, "ads": {"arrived": 7}}


def test_what_a_proxy_has_counted_stays_when_it_has_gone():
    place = InPlace()
    looks = [
        (100, None),
        (100, proxy(5)),
        (100, proxy(9)),
        (100, None),
        (102, None),
        (102, proxy(4)),
    ]
    found = [place.look(gateway(*looked[:1]), looked[1]) for looked in looks]
    assert [one["counts"]["Br-1"]["arrived"] for one in found] == [100, 105, 109, 109, 111, 115]
    assert found[3]["policy"] == {"name": "sq"}
    # Another one's run may have begun before anybody looked.
    assert place.look(gateway(102), proxy(1))["counts"]["Br-1"]["arrived"] == 116
    assert {one["gateway"] for one in found} == {1}


def test_with_another_gateway_all_counts_begin_anew():
    place = InPlace()
    for looked in (proxy(5), None):
        place.look(gateway(100, 50.0), looked)
    found = place.look(gateway(3, 1.0), None)
    assert (found["gateway"], found["counts"]["Br-1"]["arrived"]) == (2, 3)
    # Its clock may be further than that of one that did not live long.
    assert place.look(gateway(0, 2.0), None)["gateway"] == 3

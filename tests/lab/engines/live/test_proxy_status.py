from lab.engines.live.proxy_status import ProxyStatusFile, read
from lab.files.run_folder import RunFolder

SNAPSHOT = {
    "time_s": 1.0,
    "policy": {"name": "haproxy"},
    "abandonment": {"mode": "cancel"},
    "waiting": 3,
    "in_service": 30,
    "waiting_by_page": {"Br-1": None},
    "counts": {"Br-1": {"arrived": 5}},
    "load": {},
}


def test_it_is_shown_as_long_as_the_run_goes_on(tmp_path):
    folder = RunFolder(tmp_path)
    assert read(folder) is None
    shown = ProxyStatusFile(folder)
    shown.look(SNAPSHOT)
    proxy = read(folder)
    assert proxy is not None
    assert proxy["waiting"] == 3
    assert "load" not in proxy  # which the gateway measures
    shown.look(SNAPSHOT | {"waiting": 4})  # too soon
    assert read(folder) == proxy
    shown.close()
    assert read(folder) is None

import pytest

from lab.engines.hosted import key_sizes
from lab.engines.hosted.key_sizes import KeySize, recommended, signatures_s, sizes
from runtime.settings import load


@pytest.fixture
def lab(tmp_path):
    return load().changed(state_dir=tmp_path)


def test_only_the_signature_depends_on_the_key():
    found = sizes(
        {2048: 0.001, 4096: 0.005}, handshake_s=0.006, own_signature_s=0.005, session_s=0.046
    )
    assert [size.handshake_s for size in found] == pytest.approx([0.002, 0.006])
    assert [size.session_ratio for size in found] == pytest.approx([0.002 / 0.042, 0.006 / 0.046])
    for size in found:
        rest_s = 0.040 * size.length_ratio
        assert size.handshake_s / (size.handshake_s + rest_s) == pytest.approx(0.175 / 1.33)


def test_the_nearest_by_how_many_times_is_recommended():
    found = [KeySize(bits, 0, 0, ratio, 0) for bits, ratio in ((1, 0.05), (2, 0.1), (3, 0.19))]
    assert recommended(found, 0.13).bits == 2
    assert recommended(found, 0.15).bits == 3
    assert recommended(found, 0.01).bits == 1


def test_a_larger_key_signs_for_longer_and_is_made_once(lab, monkeypatch):
    found = signatures_s(lab, [2048, 3072])
    assert 0 < found[2048] < found[3072]
    monkeypatch.setattr(key_sizes, "measured_signature_s", lambda bits: pytest.fail("made again"))
    assert signatures_s(lab, [3072]) == {3072: found[3072]}


def test_another_machine_signs_in_its_own_time(lab, monkeypatch):
    monkeypatch.setattr(key_sizes, "measured_signature_s", lambda bits: 0.5)
    assert signatures_s(lab, [2048]) == {2048: 0.5}
    monkeypatch.setattr(key_sizes, "measured_signature_s", lambda bits: 0.7)
    changed = lab.changed(shop_workers=lab.shop_workers + 1)
    assert signatures_s(changed, [2048]) == {2048: 0.7}

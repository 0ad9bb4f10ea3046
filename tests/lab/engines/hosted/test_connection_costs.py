import pytest

from lab.engines.hosted.connection_costs import ConnectionCosts, keep, kept
from lab.errors import ExperimentError
from lab.machine.description import fingerprint
from runtime.settings import load

WANTED = {"key": "rsa-4096", "profile": "paper", "time_scale": 20.0}


@pytest.fixture
def lab(tmp_path):
    return load().changed(state_dir=tmp_path)


def measured(lab):
    return ConnectionCosts(
        cto_s=0.4,
        ctn_s=0.6,
        handshake_full_s=0.2,
        handshake_resumed_s=0.01,
        reply_s=0.1,
        session_s=1.6,
        replies_per_new=4.0,
        replies_per_resumed=3.9,
        resumed_per_session=3.0,
        sessions=20,
        interactions_mean=8.0,
        machine=fingerprint(lab),
        measured_at="2026-11-21T15:00:00+00:00",
        **WANTED,
    )


def test_kept_costs_come_back(lab):
    keep(measured(lab), lab)
    assert kept(lab, **WANTED) == measured(lab)
    assert measured(lab).handshake_ratio == pytest.approx(0.125)


@pytest.mark.parametrize(
    "other", [{"key": "rsa-2048"}, {"profile": "real"}, {"time_scale": 10.0}], ids=str
)
def test_each_key_profile_and_scale_has_its_own(lab, other):
    keep(measured(lab), lab)
    with pytest.raises(ExperimentError, match="doorbuster profile-connections --key"):
        kept(lab, **(WANTED | other))


def test_another_machine_is_refused_with_the_date(lab):
    keep(measured(lab), lab)
    changed = lab.changed(shop_workers=lab.shop_workers + 1)
    with pytest.raises(ExperimentError, match="2026-11-21"):
        kept(changed, **WANTED)


def test_a_file_of_another_form_is_refused(lab):
    path = keep(measured(lab), lab)
    path.write_text('{"cto_s": 1}')
    with pytest.raises(ExperimentError, match="measure again"):
        kept(lab, **WANTED)

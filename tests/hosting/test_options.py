"""The options of a platform, valid and invalid."""

import pytest

from common import cpus
from gateway.policies.processor_assignment import Wish, assign
from hosting import database
from hosting.options import PlatformOptions, most_halves
from hosting.starting import HostingError

COSTS = {"cto_s": 0.1, "ctn_s": 0.3}


@pytest.mark.parametrize(
    ("given", "complaint"),
    [
        ({"applications": 0}, "applications: 0; allowed: 1 to 16"),
        ({"applications": 3}, "priorities: 2 given for 3 applications"),
        ({"priorities": (1.0, 0.0)}, "priorities: must be numbers above 0"),
        ({"priorities": (1.0, float("nan"))}, "priorities: must be numbers above 0"),
        ({"time_scale": 0.0}, "time_scale: 0; allowed"),
        ({"provisioning": "fair"}, "provisioning: 'fair'; allowed: ecm, static, linux"),
        ({"sharing": "all"}, "sharing: 'all'; allowed: both, to-high, none"),
        ({"cpus": (8000,)}, "cpus: this machine has no CPU 8000; allowed:"),
        ({"cto_s": None}, "cto_s: admission eac needs the CPU time of a connection"),
        ({"ctn_s": 0.0}, "ctn_s: admission eac needs the CPU time of a connection"),
        ({"port": 65535}, "port: 65535; allowed: 1 to 65534"),
        (
            {"key": "rsa-1024"},
            "key rsa-1024: too short: OpenSSL's security level 2, which gateway and customers use",
        ),
        ({"key": "rsa-7681"}, "key rsa-7681: unknown kind of key; allowed: ec-p256, or rsa-N"),
        ({"shop_threads": 0}, "shop_threads: 0; allowed: 1 to 100"),
    ],
)
def test_what_cannot_be_meant_is_refused_by_its_name(given, complaint):
    with pytest.raises(HostingError, match=complaint):
        PlatformOptions(**(COSTS | given))


@pytest.mark.parametrize(
    ("applications", "given", "room"),
    [
        (2, {}, True),
        (3, {}, False),
        (3, {"provisioning": "static", "sharing": "none"}, False),
        (2, {"provisioning": "static", "sharing": "none"}, True),
        (3, {"provisioning": "linux"}, True),
        (1, {"sharing": "none"}, True),
        (2, {"sharing": "none"}, False),
        (2, {"sharing": "to-high"}, False),
        (2, {"sharing": "to-high", "priorities": (2.0, 1.0)}, True),
        (3, {"sharing": "to-high", "priorities": (3.0, 2.0, 1.0)}, False),
    ],
)
def test_each_application_can_have_half_a_processor_or_the_platform_does_not_start(
    applications, given, room
):
    one = tuple(sorted(cpus.usable()))[:1]
    options = COSTS | {"cpus": one, "priorities": (1.0,) * applications} | given
    if room:
        assert PlatformOptions(applications=applications, **options).processors == one
        return
    with pytest.raises(HostingError, match=rf"^applications: {applications} on 1 processors; "):
        PlatformOptions(applications=applications, **options)


@pytest.mark.parametrize(
    ("priorities", "sharing", "halves"),
    [
        ((1.0,) * 4, "both", 2),
        ((1.0,) * 5, "both", 2),
        ((1.0,) * 4, "none", 0),
        ((1.0,) * 4, "to-high", 0),
        ((2.0, 1.0, 1.0, 1.0), "to-high", 1),
        ((2.0, 2.0, 1.0, 1.0), "to-high", 2),
        ((3.0, 2.0, 1.0), "to-high", 1),
    ],
)
def test_who_can_share_a_processor_with_whom(priorities, sharing, halves):
    """Where all applications request many processors, the CPU manager gives some to each."""
    assert most_halves(priorities, sharing) == halves
    if len(set(priorities)) == 1:
        processors = len(priorities) - halves
        wishes = [Wish(str(i), 1.0, processors) for i in range(len(priorities))]
        shares = assign(wishes, processors, sharing)
        assert min(share.processors for share in shares.values()) >= 0.5


def test_without_admission_no_costs_are_needed():
    assert PlatformOptions(admission="none").cto_s is None


def test_shop_threads_are_sized_by_the_connections_there_are(appliance_database):
    lab = appliance_database
    assert database.threads_of_a_shop(lab, 4, None) == database.MOST_THREADS
    many = database.threads_of_a_shop(lab, 20, None)
    assert database.LEAST_THREADS <= many < database.MOST_THREADS
    assert database.threads_of_a_shop(lab, 20, many) == many
    with pytest.raises(HostingError, match=rf"20 shop processes of {many + 1} threads each"):
        database.threads_of_a_shop(lab, 20, many + 1)
    with pytest.raises(HostingError, match="fix: use fewer applications or CPUs"):
        database.threads_of_a_shop(lab, 1000, None)


def test_an_appliance_that_is_down_is_said_to_be(appliance_database):
    nobody = appliance_database.changed(postgres_port=1, redis_port=1)
    with pytest.raises(HostingError, match=r"PostgreSQL does not answer on \S+:1 .*make up"):
        database.threads_of_a_shop(nobody, 1, None)
    with pytest.raises(HostingError, match=r"Redis does not answer on \S+:1 .*make up"):
        database.check_redis(nobody)

"""The metrics of all parts, as their collectors describe them, and the page about them."""

import re

import pytest

from dashboards import metrics, metrics_page

pytestmark = pytest.mark.slow


FORBIDDEN = ("ms", "milliseconds", "minutes", "hours", "percent", "kilobytes", "megabytes")


@pytest.fixture(scope="module")
def every():
    return metrics.every()


def own(every):
    return [
        (part, metric)
        for part, found in every.items()
        if part != metrics.LIBRARY
        for metric in found
    ]


def test_names_follow_the_conventions(every):
    for part, metric in own(every):
        prefix = f"doorbuster_{part.replace('-', '_')}_"
        assert re.fullmatch(prefix + r"[a-z]+(_[a-z]+)*", metric.name), metric.name
        assert metrics_page.unit_of(metric), metric.name
        assert (metric.type == "counter") == metric.name.endswith("_total"), metric.name
        assert not metric.name.endswith(("_count", "_sum", "_bucket", "_bool")), metric.name
        assert metric.name.removesuffix("_total").split("_")[-1] not in FORBIDDEN, metric.name
        assert metric.type in ("counter", "gauge", "histogram"), metric.name


def test_labels_follow_the_conventions(every):
    for _, metric in own(every):
        for label in metric.labels:
            assert re.fullmatch(r"[a-z]+(_[a-z]+)*", label), (metric.name, label)
            assert label not in ("job", "instance"), metric.name  # the target's
        assert metric.meaning, metric.name
        assert metric.meaning[0].isupper() or metric.meaning[0].isdigit(), metric.name
        assert not metric.name.endswith("_info") or metric.labels, metric.name


def test_every_name_is_one_part_s(every):
    names = [metric.name for _, metric in own(every)]
    assert len(set(names)) == len(names)


def test_the_application_is_told_by_the_target_alone(every):
    # A label of both would become exported_application.
    for part in ("gateway", "shop"):
        assert [metric.name for metric in every[part] if "application" in metric.labels] == []


def test_a_name_without_a_unit_is_refused():
    nameless = metrics.Described("doorbuster_shop_speed", "gauge", (), "How fast")
    with pytest.raises(ValueError, match="doorbuster_shop_speed: does not end in one of the units"):
        metrics_page.unit_of(nameless)

from lab.cli.experiment_options import with_options
from lab.spec.experiment import Spec


def keys(policies, *abandonments):
    spec = with_options(Spec(policy=policies), {"abandonment": abandonments})
    return [choice.key for choice in spec.policy]


def test_labels_that_name_no_more_than_what_leaving_does_go():
    known = [{"name": "sq", "label": "X"}, {"name": "sq", "abandonment": "cancel", "label": "S"}]
    assert keys(known, "ignore", "drop-queued") == ["sq", "sq+drop-queued"]


def test_labels_that_tell_choices_apart_stay():
    known = [{"name": "sq"}, {"name": "sq", "parameters": {"capacity": 10}, "label": "short"}]
    assert keys(known, "ignore", "cancel") == ["sq", "sq+cancel", "short+ignore", "short+cancel"]

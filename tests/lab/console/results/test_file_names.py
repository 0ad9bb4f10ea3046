"""Which names of files and folders the console lets through."""

import pytest

from lab.console.results.bundles import is_name
from lab.files.run_summary import PlannedRun
from lab.spec.sections import PolicyChoice


@pytest.mark.parametrize("label", ["Few hands", "_mine", "Zürich + 2", "a.b_c-d"])
def test_the_folder_of_every_label_is_a_name(label):
    assert PolicyChoice(name="sq", label=label).key == label
    assert is_name(PlannedRun(number=1, policy=label, rho=1.4, seed=1).folder)
    assert is_name(PlannedRun(number=1, policy=label, rho=None, seed=1).folder)


@pytest.mark.parametrize(
    "part",
    ["", ".", "..", ".hidden", " x", "x ", "x.", "-x", "a/b", "/a", "a\\b", "C:", "a\nb", "x\n",
     "a\0b", "a\x7fb", "a\u202eb", "x" * 152],
)  # fmt: skip
def test_what_leads_elsewhere_or_does_not_show_is_none(part):
    assert not is_name(part)

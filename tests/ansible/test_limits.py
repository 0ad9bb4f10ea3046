"""The kernel's values for `make lab-verify`, on trees of control groups that the test writes."""

import importlib.util
from pathlib import Path
from types import ModuleType

import pytest

from tests.ansible.playing import ROLES

GROUP = "/doorbuster.slice/doorbuster-shop.slice"
HALF_A_GIB = 512 * 1024**2


@pytest.fixture
def limits(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> ModuleType:
    """Return the script of the hosts, with control groups in `tmp_path`."""
    spec = importlib.util.spec_from_file_location("limits", ROLES / "common/files/limits.py")
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    monkeypatch.setattr(module, "ROOT", tmp_path)
    return module


def write(folder: Path, **files: str) -> None:
    folder.mkdir(parents=True, exist_ok=True)
    for name, text in files.items():
        (folder / name.replace("__", ".")).write_text(text + "\n")


def unified(limits: ModuleType, **files: str) -> dict[str, float | None]:
    limits.UNIFIED = True
    write(limits.ROOT / GROUP.lstrip("/"), **files)
    return dict(limits.kept(GROUP))


def test_unified_groups_with_limits(limits: ModuleType) -> None:
    found = unified(limits, cpu__max="50000 100000", memory__max=str(HALF_A_GIB))
    assert found == {"quota": 50.0, "memory": HALF_A_GIB}


def test_unified_groups_without_limits(limits: ModuleType) -> None:
    found = unified(limits, cpu__max="max 100000", memory__max="max")
    assert found == {"quota": None, "memory": None}


def test_unified_groups_have_no_cpu_controller_where_no_quota_wants_one(
    limits: ModuleType,
) -> None:
    """A missing file means no limit, which differs from the inventory's limit."""
    assert unified(limits, memory__max=str(HALF_A_GIB)) == {"quota": None, "memory": HALF_A_GIB}
    assert unified(limits, cpu__stat="usage_usec 1")["quota"] is None


def test_a_missing_memory_controller_is_no_limit(limits: ModuleType) -> None:
    assert unified(limits, cpu__max="100000 100000") == {"quota": 100.0, "memory": None}


def test_groups_of_version_1(limits: ModuleType) -> None:
    limits.UNIFIED = False
    for controller in ("cpu", "memory"):
        (limits.ROOT / controller / GROUP.lstrip("/")).mkdir(parents=True)
    assert limits.kept(GROUP) == {"quota": None, "memory": None}
    cpu, memory = (limits.ROOT / name / GROUP.lstrip("/") for name in ("cpu", "memory"))
    write(cpu, cpu__cfs_quota_us="25000", cpu__cfs_period_us="100000")
    write(memory, memory__limit_in_bytes=str(HALF_A_GIB))
    assert limits.kept(GROUP) == {"quota": 25.0, "memory": HALF_A_GIB}
    write(cpu, cpu__cfs_quota_us="-1")
    write(memory, memory__limit_in_bytes=str(2**63 - 4096))
    assert limits.kept(GROUP) == {"quota": None, "memory": None}

"""Print the limits in force for the slices of parts, as JSON with one entry per part: limits.py
PART …

`quota` is a percentage of one CPU, and `memory` is a number of bytes; null means that there is no
limit. The script prints these limits twice: as systemd reports them (`told`), and as the kernel
reports them (`kept`). `cpus` are the CPUs that the part's processes may use, and `used_s` is their
CPU time in seconds.
"""

import json
import os
import subprocess
import sys
from pathlib import Path

ROOT = Path("/sys/fs/cgroup")
UNIFIED = (ROOT / "cgroup.controllers").exists()
NO_LIMIT = 1 << 60


def shown(unit):
    told = subprocess.run(["systemctl", "show", unit], check=True, capture_output=True, text=True)
    return dict(line.split("=", 1) for line in told.stdout.splitlines() if "=" in line)


def seconds(text):
    """Convert a duration of systemd, such as 1s or 500ms, to seconds; None for infinity."""
    for unit, length in (("ms", 1e-3), ("us", 1e-6), ("s", 1.0)):
        if text.endswith(unit) and text != "infinity":
            return float(text.removesuffix(unit)) * length
    return None


def told(properties):
    quota = seconds(properties["CPUQuotaPerSecUSec"])
    memory = properties["MemoryMax"]
    return {
        "quota": None if quota is None else round(100 * quota, 3),
        "memory": int(memory) if memory.isdigit() else None,
    }


def folder(controller, group):
    return ROOT / ("" if UNIFIED else controller) / group.lstrip("/")


def kernel_says(path):
    """Return the text of a controller's file, or an empty text if the file is missing.

    In the unified hierarchy, the CPU controller's files can be missing if there is no quota.
    """
    try:
        return path.read_text().strip()
    except FileNotFoundError:
        return ""


def kept(group):
    if UNIFIED:
        quota, _, period = kernel_says(folder("cpu", group) / "cpu.max").partition(" ")
        memory = kernel_says(folder("memory", group) / "memory.max")
    else:
        quota = kernel_says(folder("cpu", group) / "cpu.cfs_quota_us")
        period = kernel_says(folder("cpu", group) / "cpu.cfs_period_us")
        memory = kernel_says(folder("memory", group) / "memory.limit_in_bytes")
    limited = memory.isdigit() and int(memory) < NO_LIMIT
    return {
        "quota": 100 * int(quota) / int(period) if quota.isdigit() else None,
        "memory": int(memory) if limited else None,
    }


def used_s(group, properties):
    """Return the used CPU seconds, which the unified hierarchy counts even without a controller."""
    path = (ROOT if UNIFIED else ROOT / "unified") / group.lstrip("/") / "cpu.stat"
    if path.exists():
        counts = dict(line.split() for line in path.read_text().splitlines())
        return int(counts["usage_usec"]) / 1e6
    nanoseconds = properties["CPUUsageNSec"]
    return int(nanoseconds) / 1e9 if nanoseconds.isdigit() else None


def processes(group):
    for path in sorted(folder("systemd", group).rglob("cgroup.procs")):
        yield from (int(line) for line in path.read_text().split() if line != "0")


def cpus(group):
    """Return the CPUs that the main threads of the group's processes may use."""
    found = set()
    for process in processes(group):
        try:
            found |= os.sched_getaffinity(process)
        except ProcessLookupError:
            continue
    return sorted(found)


def read(part):
    properties = shown(f"doorbuster-{part}.slice")
    group = properties.get("ControlGroup", "")
    if not group:
        return {"told": told(properties), "kept": None, "cpus": [], "used_s": None}
    return {
        "told": told(properties),
        "kept": kept(group),
        "cpus": cpus(group),
        "used_s": used_s(group, properties),
    }


if __name__ == "__main__":
    print(json.dumps({part: read(part) for part in sys.argv[1:]}))

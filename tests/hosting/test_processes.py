"""Reading /proc."""

import os
import subprocess
from pathlib import Path

from hosting.processes import TICKS_PER_S, Listing, Process, owner, read, threads, tree_cpu_s
from tests.hosting.family import families
from tests.waiting import until

NOBODY = 2**22 + 1  # beyond what the kernel gives out


def test_this_process():
    me = read(os.getpid())
    assert (me.pid, me.parent, me.has_ended) == (os.getpid(), os.getppid(), False)
    assert me.own_ticks > 0
    assert me.is_same(read(os.getpid()))
    assert tree_cpu_s(os.getpid()) >= me.own_ticks / TICKS_PER_S
    assert owner(os.getpid()) == os.getuid()
    assert os.getpid() in threads(os.getpid())


def test_nobody():
    assert read(NOBODY) is None
    assert tree_cpu_s(NOBODY) is None
    assert owner(NOBODY) is None
    assert threads(NOBODY) == []
    assert not read(os.getpid()).is_same(None)


def test_names_with_parentheses_and_spaces(tmp_path):
    program = tmp_path / ") S 1 (x"
    program.symlink_to("/bin/sleep")
    with subprocess.Popen([program, "600"]) as strange:
        try:
            stat = Path(f"/proc/{strange.pid}/stat")
            until(lambda: b") S 1 (x" in stat.read_bytes())
            assert read(strange.pid).parent == os.getpid()
        finally:
            strange.kill()


def test_descendants_and_ancestors():
    with families(1) as (one,):
        parent, child = one.grandchild()
        listing = Listing.now()
        found = listing.with_descendants({one.pid: listing[one.pid]})
        assert set(found) == {one.pid, parent, child}
        assert listing.ancestors(child)[:3] == [parent, one.pid, os.getpid()]


def test_a_root_that_is_another_process_by_now_is_not_followed():
    listing = Listing({2: Process(2, 9, 1, 0, 0), 3: Process(3, 9, 2, 0, 0)})
    assert listing.with_descendants({2: Process(2, 8, 1, 0, 0)}) == {}
    assert set(listing.with_descendants({2: Process(2, 9, 1, 0, 0)})) == {2, 3}

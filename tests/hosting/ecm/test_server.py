"""The CPU manager as a process: its socket, its clients, deaths on both sides."""

import json
import os
import re
import shutil
import signal
import socket
import tempfile
from contextlib import suppress
from pathlib import Path

import pytest
from click.testing import CliRunner

from gateway.tls.processor_protocol import (
    LONGEST_LINE_BYTES,
    Assigned,
    CpusAssigned,
    CpusRequest,
    Refused,
    Register,
    written,
)
from hosting.commands import main
from hosting.ecm import accounts
from tests.hosting.family import CPUS, PATIENCE_S, REPOSITORY, cpus_of, families, manager
from tests.waiting import until

pytestmark = pytest.mark.slow


two_cpus = pytest.mark.skipif(len(CPUS) < 2, reason="two CPUs are needed")
FIRST, LAST = CPUS[:1], CPUS[-1:]
ALL = ",".join(map(str, CPUS))


@pytest.fixture
def folder():
    """Yield a folder with a short path: a socket's path is limited."""
    folder = Path(tempfile.mkdtemp(prefix="ecm-"))
    yield folder
    shutil.rmtree(folder)


@two_cpus
def test_two_applications_one_dies_the_manager_dies_and_a_new_one_takes_over():
    with families(3) as (one, other, third), manager(on=ALL) as m:
        a = m.register("shop-a", one, 2)
        b = m.register("shop-b", other, 2)
        a.hear_until(lambda said: said == Assigned(1.0, FIRST))
        b.hear_until(lambda said: said == Assigned(1.0, LAST))
        assert m.path.stat().st_mode & 0o777 == 0o600

        m.kill()
        while a.hear() is not None:
            pass
        assert m.path.exists()  # it had no time to remove it
        assert cpus_of(one.pid) == {FIRST}
        assert cpus_of(other.pid) == {LAST}

        seen = set()
        for _ in range(100):
            m.start()
            b = m.register("shop-b", other, 2, processors=LAST)  # the other way round this time
            until(lambda: m.applications().keys() == {"shop-b"})
            a = m.register("shop-a", one, 2, processors=FIRST)
            until(lambda: m.applications().keys() == {"shop-a", "shop-b"})
            if m.status()["settling"]:
                break
            m.kill()  # the machine was too slow for us to come in time: once more
        while m.status()["settling"]:
            seen.add((*cpus_of(one.pid), *cpus_of(other.pid)))
        assert a.hear() == Assigned(1.0, FIRST)
        assert b.hear() == Assigned(1.0, LAST)
        seen.add((*cpus_of(one.pid), *cpus_of(other.pid)))
        assert seen == {(FIRST, LAST)}

        c = m.register("shop-c", third, 0)
        c.hear_until(lambda said: said == Assigned(0.0, ()))
        assert cpus_of(third.pid) == {LAST}

        one.process.kill()  # and its connection, which was ours, is still there
        b.hear_until(lambda said: said == Assigned(2.0, CPUS))
        assert cpus_of(other.pid) == {CPUS}
        gone = a.hear_until(lambda said: isinstance(said, Refused))
        assert gone.error == "all its processes have ended"
        assert a.hear() is None
        assert m.applications().keys() == {"shop-b", "shop-c"}

        def accounted():
            *_, last = accounts.read(m.accounts)
            return {one["application"] for one in last["applications"]}

        m.until(lambda: accounted() == {"shop-b", "shop-c"})
        m.process.terminate()
        assert m.process.wait(PATIENCE_S) == 0
        assert cpus_of(other.pid) == cpus_of(third.pid) == {CPUS}
        assert not m.path.exists()


def test_bad_clients_get_an_answer_and_good_ones_notice_nothing():
    with families(2) as (one, other), manager(on=ALL) as m:
        good = m.register("good", one, 1)
        bad = m.talk()

        def refused(*data):
            bad.say(*data)
            return bad.hear_until(lambda said: isinstance(said, Refused))

        assert refused(b"\x00\xff{[\n").field == "message"
        assert refused(b"\n").field == "message"
        assert refused(CpusRequest(1)).error == "must be the first message"
        assert refused(CpusAssigned()).field == "register"
        assert refused(Register("good", 1.0, other.pid)).field == "application"
        assert refused(Register("bad", 1.0, one.pid)).field == "process"
        bad.say(Register("bad", 1.0, other.pid))
        assert isinstance(bad.hear(), Assigned)  # after all that
        assert (
            refused(Register("worse", 1.0, other.pid)).error
            == "is allowed only once per connection"
        )
        assert refused(b'{"request": -1}\n').field == "request"
        in_pieces = written(CpusRequest(1))
        for byte in in_pieces:
            bad.say(bytes([byte]))
        m.until(lambda: m.applications()["bad"]["requested"] == 1)

        huge = m.talk()
        huge.say(b"x" * LONGEST_LINE_BYTES)
        assert huge.hear().error == "the line is too long"
        assert huge.hear() is None
        several = m.talk()
        several.say(b'{"status": null}\n' * 3 + b'{"stat')
        assert len([several.hear() for _ in range(3)]) == 3
        several.say(b'us": null}\n')
        assert several.hear().status["cpus"] == list(CPUS)

        good.say(CpusAssigned())
        good.hear_until(lambda said: isinstance(said, Assigned))
        assert m.process.poll() is None


def test_a_client_that_never_reads_is_managed_like_any_other():
    with families(2) as (one, other), manager(on=ALL, interval_s=0.01) as m:
        deaf = m.register("deaf", one, 1)
        deaf.socket.setblocking(False)
        questions = b'{"assigned": null}\n' * 1000
        with suppress(BlockingIOError):  # it is not read any more: nor are we
            for _ in range(1000):
                deaf.socket.send(questions)
        deaf.socket.settimeout(PATIENCE_S)
        good = m.register("good", other, 1)
        good.hear_until(lambda said: said.assigned >= 0.5 or len(CPUS) < 2)
        assert cpus_of(one.pid) <= {FIRST, LAST, CPUS}
        memory = Path(f"/proc/{m.process.pid}/status").read_text()
        assert int(re.search(r"VmRSS:\s+(\d+) kB", memory).group(1)) < 200_000


def run(*arguments):
    """Return (exit status, output) of a command that ends by itself."""
    done = CliRunner().invoke(main, [str(one) for one in arguments], prog_name="hosting")
    assert done.exception is None or isinstance(done.exception, SystemExit)
    return done.exit_code, done.output


def test_the_table_for_people():
    with families(1) as (one,), manager(on=ALL) as m:
        m.register("shop-gold", one, 1, priority=2.5)
        m.until(lambda: m.applications().get("shop-gold", {}).get("assigned") == 1)
        status, printed = run("ecm-status", "--socket", m.path)
        assert status == 0
        assert re.search(r"shop-gold\D+2\.5\D+1\D+1\D+0", printed)
        assert f"CPU {ALL}, every 0.05 s, sharing both" in printed


def test_a_second_manager_on_the_same_socket_is_refused():
    with manager(on=ALL) as m:
        status, printed = run("ecm", "--socket", m.path, "--cpus", ALL)
        assert (status, printed) == (
            1,
            f"Error: --socket: another CPU manager is running on {m.path}\n",
        )
        assert m.status()


def test_what_cannot_be_started(folder):
    file = folder / "file"
    file.write_text("kept")
    long = folder / ("x" * 100)
    for options, complaint in (
        (("--cpus", "9"), r"--cpus: this process may not use CPU 9 .*; allowed: [\d,]+"),
        (("--cpus", "0-"), r"--cpus: not a CPU list; allowed: forms such as"),
        (("--interval-s", "0"), r"Invalid value for '--interval-s'"),
        (("--interval-s", "nan"), r"Invalid value for '--interval-s': 'nan' is not a finite"),
        (("--sharing", "some"), r"'some' is not one of 'both', 'to-high', 'none'"),
        (("--socket", file), r"--socket: \S+file exists and is not a socket"),
        (("--socket", folder / "no" / "x"), r"--socket: cannot listen on .*: No such file"),
        (("--socket", long), r"--socket: \S+: \d+ bytes; a socket's path may have at most 107"),
        (("--accounts", folder), r"--accounts: \S+: Is a directory"),
    ):
        given = {"--socket": folder / "s", "--cpus": CPUS[0]} | dict([options])
        if options == ("--cpus", "9") and 9 in os.sched_getaffinity(0):
            continue
        status, printed = run("ecm", *(x for pair in given.items() for x in pair))
        assert status != 0
        assert re.search(complaint, printed), printed
        assert not (folder / "s").exists()
    assert file.read_text() == "kept"
    status, printed = run("ecm-status", "--socket", folder / "s")
    assert (status, printed) == (
        1,
        f"Error: cannot read a CPU manager's state on {folder / 's'}: No such file or directory\n",
    )


DOCUMENT = REPOSITORY / "docs" / "edragon.md"


@two_cpus
def test_the_documented_exchange(folder):
    """The exchange follows docs/edragon.md line by line, on the CPUs of this machine."""
    text = DOCUMENT.read_text()
    example = re.search(r"<!-- example: exchange -->\n```\n(.*?)```", text, re.S).group(1)
    with families(2) as (one, other), manager(on=ALL, interval_s=0.01) as m:
        other_shop = m.register("shop-2", other, 1)
        other_shop.hear_until(lambda said: said.assigned == 1)
        shop = m.talk()
        spoken = heard = 0
        for line in example.splitlines():
            direction, said = line[:2], json.loads(line[2:])
            if direction == "→ ":
                if "register" in said:
                    assert said["register"]["process"] == 4711
                    said["register"]["process"] = one.pid
                shop.say(json.dumps(said).encode() + b"\n")
                spoken += 1
            else:
                assert direction == "← "
                expected = {
                    name: [CPUS[cpu] for cpu in value] if name == "processors" else value
                    for name, value in said.items()
                }
                shop.hear_until(lambda answer, want=expected: json.loads(written(answer)) == want)
                heard += 1
        assert (spoken, heard) == (4, 3)


def test_interrupted_twice_it_ends_properly():
    with families(1) as (one,), manager(on=ALL) as m:
        m.register("shop-1", one, 1)
        m.until(lambda: cpus_of(one.pid) == {FIRST})
        for number in (signal.SIGINT, signal.SIGTERM):
            m.process.send_signal(number)
        assert m.process.wait(PATIENCE_S) == 0
        assert cpus_of(one.pid) == {CPUS}
        with socket.socket(socket.AF_UNIX) as late, pytest.raises(FileNotFoundError):
            late.connect(str(m.path))

"""A teacher and two students of the classroom: the secrets and the access of each."""

import re

import pytest

from tests.ansible.machines import Machines

INVENTORY = "classroom"
NAMES = ["teacher", "student-01", "student-02"]
STUDENTS = NAMES[1:]

pytestmark = pytest.mark.timeout(7200)

# Files that a lab writes and what its processes were told, but for the system's own.
EVERYWHERE = "/etc /home /opt/doorbuster/.commit /root /run /srv /tmp /usr/local /var/lib /var/log"


def secrets_of(lab: Machines) -> dict[str, str]:
    found = {path.name: path.read_text().strip() for path in (lab.folder / "secrets").iterdir()}
    return {name: secret.split()[0] for name, secret in found.items()}


def holding(lab: Machines, name: str) -> set[str]:
    """Return the secrets that are anywhere on a host, in a file, an environment or a
    command line."""
    known = secrets_of(lab)
    grep = "grep --fixed-strings --file=/dev/shm/known --text --no-filename --only-matching"
    # By standard input: the search itself has a command line, too.
    search = (
        f"cat >/dev/shm/known; ({grep} --recursive --devices=skip {EVERYWHERE} 2>/dev/null; "
        f"cat /proc/[0-9]*/environ /proc/[0-9]*/cmdline 2>/dev/null | tr '\\0' '\\n' | {grep}) "
        "| sort -u; rm /dev/shm/known"
    )
    found = set(lab.ssh(name, search, "\n".join(known.values())).splitlines())
    return {key for key, secret in known.items() if secret in found}


def test_every_role_converges(lab: Machines) -> None:
    played = lab.play("site.yml")
    assert played.status == 0, played.output[-5000:]


def test_every_student_has_a_secret_of_their_own_and_no_other(lab: Machines) -> None:
    for student in STUDENTS:
        assert holding(lab, student) == {f"grid_password_{student}"}


def test_the_teacher_has_none_of_the_students(lab: Machines) -> None:
    """Redis has digests. The search does find the teacher's secrets."""
    held = holding(lab, "teacher")
    assert {"postgres_password", "secret_key", "broker_password"} <= held
    assert not {name for name in held if name.startswith("grid_password")}


def ask(lab: Machines, name: str, database: int, *words: str) -> str:
    """Return Redis's answer to a student who uses the values of their settings."""
    settings = lab.ssh(name, "cat /etc/doorbuster/environment")
    found = re.search(r"DOORBUSTER_GRID_BROKER='(redis://[^']*)/2'", settings)
    assert found
    code = (
        "import redis, sys\n"
        f"url = '{found[1]}/{database}'\n"
        "try:\n"
        f"    print(redis.Redis.from_url(url).execute_command(*{words!r}))\n"
        "except redis.RedisError as fault:\n"
        "    print(fault)\n"
    )
    return lab.ssh(name, f'/opt/doorbuster/.venv/bin/python -c "{code}"')


def test_a_student_reaches_the_grids_and_nothing_else_of_redis(lab: Machines) -> None:
    assert ask(lab, "student-01", 2, "PING") == "True"
    assert "permission" in ask(lab, "student-01", 1, "LLEN", "doorbuster-console")
    for words in (
        *(("GET", "shop:1:x"), ("SCAN", "0"), ("KEYS", "*"), ("RANDOMKEY",), ("SELECT", "1")),
        *(("CONFIG", "GET", "*"), ("FLUSHALL",), ("PUBLISH", "/1.celery.pidbox", "x")),
    ):
        said = ask(lab, "student-01", 0, *words)
        assert "permission" in said.lower(), said


def test_a_student_reaches_only_pages_console_and_grids_of_the_teacher(lab: Machines) -> None:
    teacher = lab.addresses["teacher"]
    ports = [5432, 6379, 6380, 8080, 8081, 8082, 8083, 8086, 8087, 8088, 8443]
    code = (
        "import socket\n"
        f"for port in {ports}:\n"
        "    with socket.socket() as one:\n"
        "        one.settimeout(3)\n"
        f"        if one.connect_ex(('{teacher}', port)) == 0: print(port)\n"
    )
    open_ports = {int(line) for line in lab.ssh("student-01", f'python3 -c "{code}"').split()}
    assert open_ports == {6380, 8080, 8087, 8443}


def test_students_take_cells_of_the_teachers_grids(lab: Machines) -> None:
    before = {name: lab.limits(name, "grid")["grid"]["used_s"] for name in STUDENTS}
    given = "--policies sq,8q-lifo-pri --rho 1.4 --sessions 2000 --repetitions 4 --fresh"
    lab.ssh("teacher", f"doorbuster simulate {given} --celery")
    after = {name: lab.limits(name, "grid")["grid"]["used_s"] for name in STUDENTS}
    assert all(after[name] - before[name] > 0.5 for name in STUDENTS), (before, after)


def test_it_does_what_it_is_for(lab: Machines) -> None:
    played = lab.play("verify.yml")
    assert played.status == 0, played.output[-5000:]

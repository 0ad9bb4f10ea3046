"""Invalid arguments: one line with the allowed values, status 2."""

import click
import pytest
from click.testing import CliRunner

from bench import own_answers, policies, sessions
from bench.classroom import command as classroom
from bench.console import command as console
from common.one_line import OneLineGroup
from doorbuster.commands import main
from tests.programs import python, run
from tests.runtime.conftest import Docker, told


@pytest.mark.parametrize(
    ("command", "arguments", "said"),
    [
        (console.main, "foo", "no command 'foo'; allowed: looks, pages, watched"),
        (policies.main, "--policies sq,lifo", "'lifo' is unknown; allowed: sq, always-fifo"),
        (policies.main, "--rounds 0", "--rounds"),
        (sessions.main, "--rounds 0", "--rounds"),
        (own_answers.main, "--nope", "--nope"),
        (classroom.main, "--lesson x", "'a class', 'a class and three attackers'"),
        (main, "compose", 'ARGS: is missing; allowed: arguments of docker compose, e.g. ARGS="ps"'),
        (main, "nope", "no command 'nope'; allowed: doctor, up, "),
    ],
)
def test_commands(command: click.Command, arguments: str, said: str) -> None:
    done = CliRunner().invoke(command, arguments.split())
    assert done.exit_code == 2
    assert done.stderr.startswith("Error: ")
    assert said in done.stderr
    assert len(done.stderr.splitlines()) == 1


def test_help_is_not_a_wrong_argument() -> None:
    @click.group(cls=OneLineGroup)
    def group() -> None:
        """A group of several commands."""

    @group.command()
    def one() -> None:
        """A single command."""
        click.echo("done")

    assert CliRunner().invoke(group, ["one"]).stdout == "done\n"
    for arguments in ([], ["--help"]):
        done = CliRunner().invoke(group, arguments)
        assert "Usage: " in done.output
        assert "Error" not in done.output


def test_the_log_of_a_container_that_there_is_not(docker: Docker) -> None:
    docker.answers()
    docker.contains(told("shop"), told("ads"))
    done = CliRunner().invoke(main, ["logs", "shoop"])
    assert done.exit_code == 2
    assert done.stderr == "Error: no log of shoop; allowed: ads, shop\n"


@pytest.mark.parametrize(
    ("command", "said"),
    [
        (["make", "--dry-run", "lab-verify", "INVENTORY=nope"],
         "INVENTORY=nope: no such inventory; allowed: "),
        (["docker/offline/build.sh", "NOPE_IMAGE"],
         "make images-offline: ARGS: no image NOPE_IMAGE; allowed: PYTHON_IMAGE "),
    ],
)  # fmt: skip
def test_make_and_scripts(command: list[str], said: str) -> None:
    done = run(*command)
    assert done.returncode == 2
    assert said in done.stderr
    assert len(done.stderr.splitlines()) == 1


@pytest.mark.long
@pytest.mark.parametrize(
    ("tests", "variables", "said"),
    [
        ("tests/docker", {"DOORBUSTER_TEST_DOCKER": "1"}, "make test-docker: there is no program"),
        ("tests/chaos", {"RUNTIME": "podman"}, "RUNTIME=podman is unknown; allowed: native"),
        ("tests/chaos", {"RUNTIME": "docker"}, "RUNTIME=docker: there is no program docker"),
    ],
)
def test_tests_that_want_an_engine(
    docker: Docker, tests: str, variables: dict[str, str], said: str
) -> None:
    docker.answers(None)
    for name, text in variables.items():
        docker.setenv(name, text)
    done = python("-m", "pytest", tests)
    assert done.returncode == 2
    assert said in done.stdout + done.stderr
    assert "Traceback" not in done.stdout + done.stderr

"""The commands `doorbuster policy …`, for included policies and for policies that you write."""

import shutil
import sys
from dataclasses import asdict
from pathlib import Path

import click

from gateway.policies import PolicyError
from gateway.students import files
from lab.cli.command import AS_JSON, LabCommand, print_json
from lab.errors import ExperimentError, SpecError


@click.command("list", cls=LabCommand)
@AS_JSON
def policies(as_json: bool) -> None:
    """List every policy and baseline proxy with its idea, rule, source and parameters."""
    from lab.cli import policy_sheets

    if as_json:
        rows = policy_sheets.as_rows(policy_sheets.sheets())
        print_json(rows)
        return
    click.echo(policy_sheets.as_text(policy_sheets.sheets()), nl=False)


_FILE = click.argument("path", metavar="FILE", type=click.Path(path_type=Path))


@click.command(cls=LabCommand)
@click.argument("name")
def new(name: str) -> None:
    """Write own/NAME.py, a small policy that works, and its test.

    After you have changed own/NAME.py, `policy check` reports errors in the file, and `policy
    score` compares your policy with others.
    """
    from lab.students.template import write_policy

    policy, test = write_policy(name, Path(files.FOLDER))
    click.echo(
        f"{policy}   your policy: change this file\n{test}   its test: examples of decisions"
    )
    click.echo(f"Next: {_called()} policy check {policy}")
    click.echo("All events and verdicts, with examples: docs/policy-api.md")


@click.command(
    cls=LabCommand,
    context_settings={"ignore_unknown_options": True, "help_option_names": ["--help"]},
)
@click.argument("arguments", metavar="[PYTEST-ARGUMENT]...", nargs=-1, type=click.UNPROCESSED)
@click.pass_context
def test(context: click.Context, arguments: tuple[str, ...]) -> None:
    """Run the tests of your policies: all tests in own/, or the tests that you name as arguments of
    pytest.

    The tests run in a separate process without network access. The process can read only own/ and
    the programs that the tests need, and can write only to a temporary folder.
    """
    from lab.students.own_tests import run

    context.exit(run(arguments, Path(files.FOLDER)))


@click.command(cls=LabCommand)
@_FILE
@AS_JSON
def check(path: Path, as_json: bool) -> None:
    """Check your policy: print a line for each rule, and how to fix each error.

    As in the gateway, the policy runs in a separate process without access to files or the network.
    """
    from lab.students import validator

    def show(finding: validator.Finding) -> None:
        if as_json:
            return
        first, *more = finding.says.splitlines()
        click.echo(f"{'✓' if finding.holds else '✗'} {finding.check + ':':15} {first}")
        for line in more:
            click.echo(f"{'':18}{line}")

    try:
        checked = validator.check(path, show)
    except PolicyError as fault:
        raise SpecError("FILE", fault.message, allowed=fault.allowed) from None
    if as_json:
        answer = {"file": str(path), "valid": checked.is_valid}
        findings = [asdict(finding) for finding in checked.findings]
        print_json(answer | {"findings": findings})
        click.get_current_context().exit(0 if checked.is_valid else 1)
    if not checked.is_valid:
        raise ExperimentError(f"{path} is not ready yet. Fix the lines marked ✗ and check again.")
    click.echo(f"{path} is ready. Next: {_called()} policy score {path}")


@click.command(cls=LabCommand)
@click.argument("paths", metavar="[FILE]...", nargs=-1, type=click.Path(path_type=Path))
@click.option(
    "--fresh",
    is_flag=True,
    help="Remove all other rows from the scoreboard as soon as the new rows are ready.",
)
@click.option(
    "--processes",
    type=click.IntRange(1),
    help="The maximum number of simulations at a time; by default, the number of CPUs.",
)
@click.option(
    "--by",
    metavar="NAME",
    help="The author's name on the scoreboard; it replaces the author in SHEET.",
)
@click.option(
    "--with-known",
    is_flag=True,
    help="Run SQ, 8Q-LIFO-Pri and DOOR-LIFO again, so that you can race your policy against them.",
)
@click.option("--json", "as_json", is_flag=True, help="Print the board as JSON for a program.")
def score(
    paths: tuple[Path, ...],
    fresh: bool,
    processes: int | None,
    by: str | None,
    with_known: bool,
    as_json: bool,
) -> None:
    """Simulate your policies, and show them on a scoreboard with SQ, 8Q-LIFO-Pri and DOOR-LIFO.

    All policies serve the same customers. FILE is the path of a policy; by default, all policies in
    own/ are simulated. Invalid policies are reported and left out. The scoreboard is in
    results/scoreboard.
    """
    from lab.report.terminal import output
    from lab.students.scoreboard import play

    with output(as_json=as_json, quiet=False):
        board = play(
            paths or tuple(map(Path, files.listed())),
            fresh=fresh,
            processes=processes,
            by=by,
            with_known=with_known,
        )
    if as_json:
        rows = [{"place": place, **row} for place, row in board.ranked()]
        print_json(rows)


def _called() -> str:
    """Return the command that starts this program: its name, or its path in a clone."""
    return "doorbuster" if shutil.which("doorbuster") else sys.argv[0]

"""The commands that start, stop and show the appliance, and report errors together with the fix."""

import json
import os
import sys
from collections.abc import Callable, Iterable, Sequence
from pathlib import Path

import click

from common import pinned
from runtime import certificate_files, choice
from runtime import doctor as doctor_module
from runtime import status as status_module
from runtime.compose import appliance, engine, execution
from runtime.compose import settings as compose_settings
from runtime.native import down as down_module
from runtime.native import up as up_module
from runtime.native.postgres import PostgresError
from runtime.native.redis_server import RedisError
from runtime.native.supervision import Supervisor, SupervisorError
from runtime.progress import Progress
from runtime.settings import Settings, SettingsError, load, load_leniently
from runtime.state import State, StateError, said

EXPLAINED = (
    certificate_files.CertificateError,
    choice.RuntimeChoiceError,
    engine.EngineError,
    LookupError,
    PostgresError,
    RedisError,
    SettingsError,
    StateError,
    SupervisorError,
    up_module.StartError,
)


@click.command()
def up() -> None:
    """Start everything and wait until it is healthy."""
    _explained(start_appliance)


def start_appliance(settings: Settings, progress: Progress) -> None:
    _refuse_unseen(settings)
    why = choice.why_native()
    if choice.choose(settings).runtime == "docker":
        try:
            appliance.start(settings, progress)
            return
        except engine.EngineError as error:
            # Containers were not requested, and a shop can run natively without the image.
            if choice.asked() or choice.running(settings):
                raise
            why = str(error)
    if why:
        progress.say(f"Not in containers: {why}")
    up_module.up(settings, progress)


@click.command()
def down() -> None:
    """Stop everything."""
    _explained(stop_appliance, _load_or_warn)


def stop_appliance(settings: Settings, progress: Progress) -> None:
    _refuse_unseen(settings)
    _stop(settings, progress)


def _refuse_unseen(settings: Settings) -> None:
    # The appliance may still run, and a second one would share its results.
    unseen = appliance.unseen(settings) if choice.asked() is None else None
    if unseen and choice.running(settings) is None:
        raise engine.EngineError(unseen)


def _stop(settings: Settings, progress: Progress) -> None:
    if choice.to_use(settings) == "docker":
        appliance.down(settings, progress)
    else:
        down_module.down(settings, progress)


@click.command()
def reset() -> None:
    """Stop everything and empty the state folder, but keep the results."""
    _explained(reset_appliance)


def reset_appliance(settings: Settings, progress: Progress) -> None:
    # `forget` removes the containers' data in both runtimes, because its passwords are in the state
    # folder.
    down_module.reset(settings, progress, _stop, lambda: appliance.forget(settings, progress))


@click.command()
@click.option("--json", "as_json", is_flag=True, help="Print JSON for a program.")
def status(as_json: bool) -> None:
    """Show which services run, where they run, and since when."""
    _explained(print_status if as_json else show_appliance, _load_or_warn)


def show_appliance(settings: Settings, progress: Progress) -> None:
    _refuse_unseen(settings)
    status_module.show(settings, choice.to_use(settings), progress)


def print_status(settings: Settings, _: Progress) -> None:
    """Print the runtime and the state of its services as JSON."""
    _refuse_unseen(settings)
    runtime = choice.to_use(settings)
    rows = status_module.rows(settings, runtime)
    click.echo(json.dumps({"runtime": runtime, "services": rows}, indent=1, ensure_ascii=False))


@click.command()
@click.option("--json", "as_json", is_flag=True, help="Print JSON for a program.")
def doctor(as_json: bool) -> None:
    """Check this machine and print the fix for each fault."""
    if not as_json:
        sys.exit(doctor_module.doctor(Progress()))
    answer = doctor_module.as_json()
    click.echo(json.dumps(answer, indent=1, ensure_ascii=False))
    sys.exit(0 if answer["runs"] else 1)


@click.command()
@click.option(
    "--key",
    help="The kind of the server's key: ec-p256 (cheap; the default) or rsa-N, with N bits.",
)
@click.option("--replace", is_flag=True, help="Create new certificates even if valid ones exist.")
def certs(key: str | None, replace: bool) -> None:
    """Create an authority and a certificate for gateway and console, or show those that exist."""
    try:
        certificate_files.rsa_bits(key or certificate_files.CHEAP_KEY)
    except certificate_files.CertificateError as fault:
        raise click.UsageError(str(fault)) from None
    _explained(lambda settings, progress: _certs(settings, key, replace))


def _certs(settings: Settings, key: str | None, replace: bool) -> None:
    from runtime import certificates  # takes a while

    state = State(settings.state_dir)
    if not state.is_somebodys:  # a lab host's folder has other files, which `make` refuses
        state.make()
    names = certificates.own_names(*settings.served_names)
    there = certificate_files.of(state.folder)
    with state.locked():
        if replace:
            why = "requested"
            certificates.make(there.folder, key or certificate_files.CHEAP_KEY, names)
        else:
            _, why = certificates.keep(there.folder, key or certificate_files.CHEAP_KEY, names)
    if not why and key not in (None, certificates.key_name(there)):
        raise certificate_files.CertificateError(
            f"KEY={key}: a valid certificate with {certificates.key_name(there)} already "
            f"exists; fix: make certs KEY={key} ARGS=--replace"
        )
    click.echo(f"{'Made' if why else 'Kept'}{f' ({why})' if why else ''}:")
    rows = {
        "authority": there.authority,
        "certificate": there.server,
        "key": there.key,
        "kind of key": certificates.key_name(there),
        "names": ", ".join(certificates.names_in(there.server)),
        "valid until": certificates.valid_until(there),
    }
    for name, value in rows.items():
        click.echo(f"  {name:<12} {value}")
    click.echo(
        "The gateway and the console use a new certificate after the next `make up`. To open the "
        "shop over TLS:"
    )
    click.echo(
        f"  curl --cacert {there.authority} https://localhost:{settings.gateway_tls_port}/\n"
        "  or import the authority into a browser (Settings, Certificates, Authorities)"
    )


@click.command()
def token() -> None:
    """Print the HTTP header that calls of the admin API and of the shop's controller need."""
    _explained(_token, _load_or_warn)


def _token(settings: Settings, progress: Progress) -> None:
    if not settings.inner_token:
        raise StateError(
            f"{settings.state_dir} has no inner token that this user can read; fix: make up, "
            "which generates the token; if the folder belongs to another user, run this command "
            "as that user"
        )
    click.echo(f"Authorization: Bearer {settings.inner_token}")


@click.command()
@click.argument("services", nargs=-1)
def logs(services: tuple[str, ...]) -> None:
    """Follow the logs of the named SERVICES, or of all services."""
    _explained(lambda settings, progress: _logs(settings, services), _load_or_warn)


def _logs(settings: Settings, services: tuple[str, ...]) -> None:
    if choice.to_use(settings) == "docker":
        project = _project(settings)
        if there := sorted({one.service for one in engine.containers(project.name)}):
            _refuse_unknown(services, there)
            command = project.command("logs", "--follow", "--tail=20", *services)
            os.execvpe(command[0], command, project.environment())
    folder = State(settings.state_dir).logs  # of the native runtime, or of removed containers
    logs = {path.stem: path for path in sorted(folder.glob("*.log"))}
    if not logs:
        raise click.ClickException("There are no logs yet; run `make up` first")
    _refuse_unknown(services, logs)
    chosen = [str(logs[name]) for name in services or logs]
    os.execvp("tail", ["tail", "--lines=20", "--follow=name", "--retry", *chosen])


def _refuse_unknown(services: Iterable[str], there: Iterable[str]) -> None:
    if unknown := [name for name in services if name not in there]:
        raise click.UsageError(f"no log of {', '.join(unknown)}; allowed: {', '.join(there)}")


@click.command("exec", context_settings={"ignore_unknown_options": True})
@click.argument("command", nargs=-1, required=True, type=click.UNPROCESSED)
def execute(command: tuple[str, ...]) -> None:
    """Run COMMAND with the appliance's settings, on the CPUs that the shop does not use.

    If the appliance runs in containers, the command runs in the workers' container.
    """
    _explained(lambda settings, progress: _become(settings, command))


def _become(settings: Settings, command: tuple[str, ...]) -> None:
    if choice.to_use(settings) == "docker":
        sys.exit(_inside(settings, command))
    if not Supervisor(State(settings.state_dir)).is_running():
        raise StateError("this command needs a running appliance; fix: make up")
    wrapped = pinned.command(settings.other_cpus, command)
    # `python` is the interpreter with the libraries, as in a container.
    path = f"{Path(sys.executable).parent}{os.pathsep}{os.environ.get('PATH', os.defpath)}"
    os.execvpe(wrapped[0], wrapped, {**settings.environment(), "PATH": path})


def run_inside(command: Sequence[str]) -> int | None:
    """Run `command` in the workers' container and return its exit status, or None if the appliance
    does not run in containers. If something fails, the function prints an error and ends the
    process.
    """
    status: int | None = None

    def run(settings: Settings, progress: Progress) -> None:
        nonlocal status
        if choice.to_use(settings) == "docker":
            status = _inside(settings, command)

    _explained(run, _load_silently)  # the command itself names faults
    return status


def _inside(settings: Settings, command: Sequence[str]) -> int:
    project = _project(settings)
    if not execution.runs(project):
        raise StateError("this command needs a running appliance; fix: make up")
    return execution.run(project, command)


@click.command("compose", context_settings={"ignore_unknown_options": True})
@click.argument("arguments", nargs=-1, type=click.UNPROCESSED)
def compose_command(arguments: tuple[str, ...]) -> None:
    """Run `docker compose ARGUMENTS` for the appliance's containers."""
    if not arguments:
        raise click.UsageError(
            'ARGS: is missing; allowed: arguments of docker compose, e.g. ARGS="ps"'
        )
    _explained(lambda settings, progress: _compose(settings, arguments), _load_or_warn)


def _compose(settings: Settings, arguments: tuple[str, ...]) -> None:
    engine.check()
    project = _project(settings)
    command = project.command(*arguments)
    os.execvpe(command[0], command, project.environment())


def _project(settings: Settings) -> compose_settings.Project:
    return compose_settings.Project(settings, State(settings.state_dir))


def _load_silently() -> Settings:
    return load_leniently()[0]


def _load_or_warn() -> Settings:
    # `make down` and `make status` must work despite a mistake in .env.
    settings, faults = load_leniently()
    for fault in faults:
        click.echo(f"warning: {fault}", err=True)
    return settings


def _explained(
    command: Callable[[Settings, Progress], None], settings: Callable[[], Settings] = load
) -> None:
    progress = Progress()
    try:
        command(settings(), progress)
    except EXPLAINED as error:
        progress.failure(str(error))
        sys.exit(1)
    except OSError as error:
        progress.failure(f"{said(error)}; fix: `make doctor` checks the state folder and its disk")
        sys.exit(1)
    except (KeyboardInterrupt, click.Abort):  # Abort: Ctrl-C or Ctrl-D at a question
        progress.failure("Interrupted.")
        sys.exit(130)

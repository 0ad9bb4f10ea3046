"""The commands `launch`, `results export` and `results import`, and the options `--server`,
`--token-file` and `--authority`, for experiments and results on a console.
"""

import os
import sys
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any, Final
from urllib.parse import quote, urlencode, urlsplit

import click

from common import early_signals, hosts
from common.http_json import JsonClient, NoAnswerError, RefusedError
from lab.cli.command import AS_JSON, QUIET, Decorator, LabCommand, all_of, print_json
from lab.cli.experiment_options import complete_spec, overridable, with_options
from lab.errors import ExperimentError, SpecError
from lab.spec.experiment import Spec, load_checked
from lab.wording import duration

TOKEN: Final = "DOORBUSTER_TOKEN"
"""The environment variable that holds the user's token."""
_TIMEOUT_S: Final = 120.0
_LOOK_EVERY_S: Final = 2.0
_NO_SERVER: Final = (
    "No server answers at {server}. Check the host and the port; "
    "if they are right, start the console there with `make up`."
)
_DONE: Final = "done"
_UNFINISHED: Final = ("queued", "running")
_FILE = click.Path(exists=True, dir_okay=False, path_type=Path)


def of_server(*, required: bool) -> Decorator:
    """Return a decorator that adds the options of `client_of` to a command."""
    return all_of(
        click.option(
            "--server",
            metavar="URL",
            required=required,
            help="The address of a console, e.g. https://lab.example.edu:8087.",
        ),
        click.option(
            "--token-file",
            type=_FILE,
            help="A file with your token; without this option, the command reads the token from "
            f"the variable {TOKEN}.",
        ),
        click.option(
            "--authority",
            type=_FILE,
            help="The console's certificate authority (PEM), if this system does not trust it.",
        ),
    )


@contextmanager
def client_of(server: str, token_file: Path | None, authority: Path | None) -> Iterator[JsonClient]:
    """Yield a client of the console.

    Raises SpecError if an option is invalid or the console refuses a call, and ExperimentError for
    every other failure.
    """
    token = _token(token_file)
    try:
        parts = urlsplit(server)
        _ = parts.port
    except ValueError:
        parts = urlsplit("")
    if parts.scheme not in ("http", "https") or not parts.hostname or parts.path not in ("", "/"):
        raise SpecError(
            "--server", f"{server!r:.200}", allowed="http://HOST:PORT, https://HOST:PORT"
        )
    if token and parts.scheme == "http" and not hosts.is_loopback(parts.hostname):
        raise SpecError(
            "--server", f"{server}: http sends your token unencrypted", allowed="https://HOST:PORT"
        )
    try:
        made = JsonClient.at(server, timeout_s=_TIMEOUT_S, token=token, authority=authority)
    except OSError as fault:  # ssl.SSLError is one
        raise SpecError(
            "--authority", f"{authority} cannot be used ({fault})", allowed="certificates in PEM"
        ) from None
    with made as client:
        try:
            yield client
        except NoAnswerError as fault:
            if isinstance(fault.__cause__, ConnectionRefusedError):
                raise ExperimentError(_NO_SERVER.format(server=server)) from None
            raise ExperimentError(f"{server} does not answer: {fault}") from None
        except RefusedError as fault:
            kind = SpecError if fault.status < 500 else ExperimentError
            raise kind(f"{server}: {fault}") from None


def _token(file: Path | None) -> str:
    text = os.environ.get(TOKEN, "") if file is None else _text_of(file)
    token = text.strip()
    if not (token.isascii() and token.isprintable()) or " " in token:
        place = TOKEN if file is None else "--token-file"
        raise SpecError(place, "must contain only a token, as the console's page /tokens/ shows it")
    return token


def _text_of(file: Path) -> str:
    try:
        return file.read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError) as fault:
        raise SpecError("--token-file", f"{file} cannot be read ({fault})") from None


@click.command(cls=LabCommand)
@click.argument("spec_name", metavar="SPEC", shell_complete=complete_spec)
@of_server(required=True)
@click.option(
    "--engine",
    type=click.Choice(["live", "simulated"]),
    help="The engine to use instead of the spec's engine.",
)
@click.option(
    "--detach",
    is_flag=True,
    help="End as soon as the console has accepted the launch, without showing its progress.",
)
@AS_JSON
@QUIET
@overridable
def launch(
    spec_name: str,
    server: str,
    token_file: Path | None,
    authority: Path | None,
    detach: bool,
    as_json: bool,
    quiet: bool,
    **given: Any,
) -> None:
    """Launch an experiment on a console, and show its progress until it ends.

    SPEC is a spec file or the name of an included spec. Ctrl-C ends this command, but not the
    launch on the console. The last line of the output then shows the address of the launch's page.
    With --json, the output is the launch in the form of the console's API.
    """
    from lab.report.terminal import console, essential, output

    spec = with_options(load_checked(spec_name), given)
    with output(as_json=as_json, quiet=quiet), client_of(server, token_file, authority) as client:
        made = _launched(client, server, spec, follow=not detach)
        if as_json:
            print_json(made)
        elif made["result"]:
            with essential():
                console.print(f"Result: {_result_page(server, made['result'])}")
    if made["state"] not in _UNFINISHED:
        _require_done(server, made)


def summary_of_launch(client: JsonClient, server: str, spec: Spec) -> Mapping[str, Any]:
    """Launch a spec on a console, show its progress, and return the summary of its result.

    The summary has the form of the API, plus `page`, the address of the result's page. Raises
    ExperimentError if the launch fails or its result has no tables.
    """
    made = _launched(client, server, spec, follow=True)
    _require_done(server, made)
    summary = client.call("GET", f"/api/results/{quote(made['result'])}")
    if not summary["tables"]:
        raise ExperimentError(f"{_result_page(server, made['result'])} has no tables")
    return {**summary, "page": _result_page(server, made["result"])}


def _launched(client: JsonClient, server: str, spec: Spec, *, follow: bool) -> Mapping[str, Any]:
    from lab.report.terminal import console

    queue = f"{server.rstrip('/')}/launches/"
    with _ending_here(
        f"If {server} has received the launch, the launch goes on; to see or cancel it: {queue}"
    ):
        made: Mapping[str, Any] = client.call("POST", "/api/launches", {"toml": spec.to_toml()})
    page = _launch_page(server, made)
    with _ending_here(f"The launch goes on at {server}; to see or cancel it: {page}"):
        console.print(f"Launched: {page}")
        return _followed(client, made) if follow else made


def _followed(client: JsonClient, made: Mapping[str, Any]) -> Mapping[str, Any]:
    """Show the progress of a launch until it ends. Return the ended launch.

    A terminal shows one line, which is updated. Other outputs get a line for each step and each
    tenth of the progress.
    """
    from rich.text import Text

    from lab.report.terminal import console

    logged: object = None
    with console.status("") as status:
        while made["state"] in _UNFINISHED:
            words = Text(_progress(made))
            status.update(words)
            step = (made["state"], made["progress"], int(10 * made["done_ratio"]))
            if not console.is_terminal and step != logged:
                console.print(words)
                logged = step
            time.sleep(_LOOK_EVERY_S)
            made = client.call("GET", f"/api/launches/{made['id']}")
    return made


def _launch_page(server: str, made: Mapping[str, Any]) -> str:
    return f"{server.rstrip('/')}/launches/{made['id']}/"


def _result_page(server: str, name: str) -> str:
    return f"{server.rstrip('/')}/results/{name}/"


def _require_done(server: str, made: Mapping[str, Any]) -> None:
    if made["state"] != _DONE:
        why = made["reason"] or _launch_page(server, made)
        raise ExperimentError(f"The launch ended without a result ({made['state']}): {why}")


@contextmanager
def _ending_here(where: str) -> Iterator[None]:
    """After Ctrl-C, print `where`, the place of the launch, and end this program; the launch
    continues. If the console stops answering, the error also contains `where`, unless the console
    refused the connection.
    """
    try:
        yield
    except KeyboardInterrupt:
        click.echo(f"\nInterrupted. {where}", err=True)
        sys.exit(early_signals.INTERRUPTED)
    except NoAnswerError as fault:
        if isinstance(fault.__cause__, ConnectionRefusedError):
            raise
        raise NoAnswerError(f"{fault}. {where}") from fault


def _progress(launch: Mapping[str, Any]) -> str:
    if launch["state"] == "running":
        left_s = launch["left_s"]
        if left_s is None:
            left = ", longer than predicted"
        else:
            left = f", about {duration(left_s)} left" if left_s else ""
        return f"running, {launch['done_ratio']:.0%}: {launch['progress'] or 'it begins'}{left}"
    starts_in_s = launch["starts_in_s"]
    begins = "" if starts_in_s is None else f", begins in about {duration(starts_in_s)}"
    return f"waiting, place {launch['position'] or 1}{begins}"


@click.command("export", cls=LabCommand)
@click.argument("name")
@of_server(required=True)
@click.option(
    "--to",
    type=click.Path(path_type=Path),
    help="The file to write; by default, NAME.zip in the current folder.",
)
def exported(
    name: str, server: str, token_file: Path | None, authority: Path | None, to: Path | None
) -> None:
    """Download a result from a console as a bundle.

    NAME is a name from `doorbuster results list --server URL`.
    """
    if name != Path(name).name or name.startswith("."):
        raise SpecError(
            "NAME", f"{name!r:.80}", allowed=f"a name from `results list --server {server}`"
        )
    target = to or Path(f"{name}.zip")
    if target.exists():
        raise SpecError("--to", f"{target} exists", allowed="a new file")
    partial = target.with_name(f".{target.name}.part")
    with client_of(server, token_file, authority) as client:
        try:
            with partial.open("wb") as file:
                client.download(f"/api/results/{quote(name)}/bundle.zip", file)
            partial.replace(target)
        finally:
            partial.unlink(missing_ok=True)
    click.echo(f"Written: {target}")


@click.command("import", cls=LabCommand)
@click.argument("file", type=_FILE)
@of_server(required=True)
def imported(file: Path, server: str, token_file: Path | None, authority: Path | None) -> None:
    """Send the bundle FILE to a console, which stores it as an imported result."""
    with client_of(server, token_file, authority) as client, file.open("rb") as bundle:
        kept = client.upload("/api/results", bundle, file.stat().st_size, "application/zip")
    for words in kept["warnings"]:
        click.echo(words, err=True)
    click.echo(f"Imported: {_result_page(server, kept['name'])}")


def rows_of(client: JsonClient) -> Iterator[Mapping[str, Any]]:
    """Yield all results of a console."""
    page = pages = 1
    while page <= pages:
        answer = client.call("GET", f"/api/results?{urlencode({'page': page})}")
        yield from answer["results"]
        page, pages = page + 1, answer["pages"]

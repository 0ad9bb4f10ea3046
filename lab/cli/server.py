"""The commands that use a console on another machine: `launch`, `results export`, `import`."""

import json
import os
import sys
import time
from collections.abc import Callable, Collection, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any, Final
from urllib.parse import quote, urlencode, urlsplit

import click

from common import early_signals, hosts
from common.http_json import JsonClient, NoAnswerError, RefusedError
from lab.cli.completion import complete_spec
from lab.cli.experiment_options import overridable, with_options
from lab.cli.faults import LabCommand
from lab.durations import duration
from lab.errors import ExperimentError, SpecError
from lab.spec.experiment import Spec, load_checked

TOKEN: Final = "DOORBUSTER_TOKEN"
"""The environment variable with the token."""
AS_JSON = click.option("--json", "as_json", is_flag=True, help="Print JSON for a program.")
_TIMEOUT_S: Final = 120.0
_LOOK_EVERY_S: Final = 2.0
_DONE: Final = "done"
_UNFINISHED: Final = ("queued", "running")
_FILE = click.Path(exists=True, dir_okay=False, path_type=Path)
_OPTIONS: Final = (
    click.option(
        "--token-file",
        type=_FILE,
        help=f"A file with your token; without it the variable {TOKEN} has the token.",
    ),
    click.option(
        "--authority",
        type=_FILE,
        help="The console's certificate authority (PEM), if this system does not trust it.",
    ),
)


def of_server(*, required: bool) -> Callable[[Callable[..., Any]], Callable[..., Any]]:
    """Return a decorator that gives a command the options that `client_of` takes."""

    def decorate(command: Callable[..., Any]) -> Callable[..., Any]:
        for option in reversed(_OPTIONS):
            command = option(command)
        about = "The address of a console, e.g. https://lab.example.edu:8087."
        return click.option("--server", metavar="URL", required=required, help=about)(command)

    return decorate


@contextmanager
def client_of(server: str, token_file: Path | None, authority: Path | None) -> Iterator[JsonClient]:
    """Yield a client of the console; its faults are ExperimentError, or SpecError if refused."""
    token = _token(token_file)
    try:
        parts = urlsplit(server)
        _ = parts.port
    except ValueError:
        parts = urlsplit("")
    if parts.scheme not in ("http", "https") or not parts.hostname or parts.path not in ("", "/"):
        raise SpecError(f"--server: {server!r:.200}; allowed: http://HOST:PORT, https://HOST:PORT")
    if token and parts.scheme == "http" and not hosts.is_loopback(parts.hostname):
        raise SpecError(
            f"--server: {server}: http shows your token to the network; allowed: https://HOST:PORT"
        )
    try:
        made = JsonClient.at(server, timeout_s=_TIMEOUT_S, token=token, authority=authority)
    except OSError as fault:  # ssl.SSLError is one
        raise SpecError(
            f"--authority: {authority} cannot be used ({fault}); allowed: certificates in PEM"
        ) from None
    with made as client:
        try:
            yield client
        except NoAnswerError as fault:
            raise ExperimentError(f"{server} does not answer: {fault}") from None
        except RefusedError as fault:
            kind = SpecError if fault.status < 500 else ExperimentError
            raise kind(f"{server}: {fault}") from None


def _token(file: Path | None) -> str:
    """Return the token of this person; empty if there is none."""
    text = os.environ.get(TOKEN, "") if file is None else _text_of(file)
    token = text.strip()
    if not (token.isascii() and token.isprintable()) or " " in token:
        place = TOKEN if file is None else "--token-file"
        raise SpecError(f"{place}: has no token; allowed: one line, as the page /tokens/ shows it")
    return token


def _text_of(file: Path) -> str:
    try:
        return file.read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError) as fault:
        raise SpecError(f"--token-file: {file} cannot be read ({fault})") from None


@click.command(cls=LabCommand)
@click.argument("spec_name", metavar="SPEC", shell_complete=complete_spec)
@of_server(required=True)
@click.option(
    "--engine", type=click.Choice(["live", "simulated"]), help="Another engine than the spec's."
)
@click.option("--detach", is_flag=True, help="End after the launch; do not follow it.")
@AS_JSON
@overridable
def launch(
    spec_name: str,
    server: str,
    token_file: Path | None,
    authority: Path | None,
    detach: bool,
    as_json: bool,
    **given: Any,
) -> None:
    """Launch an experiment on a console, and follow it until it ends.

    SPEC is a spec file, or the name of an included one. Ctrl-C ends this command; the launch goes
    on at the console, and the last line has the address of its page. JSON has the launch as the
    console's API describes it.
    """
    spec = with_options(load_checked(spec_name), given)
    with client_of(server, token_file, authority) as client:
        made = _launched(client, server, spec)
        address = _page_of(server, made)
        if not as_json:
            click.echo(f"Launched: {address}")
        if not detach:
            made = _followed(client, server, made, shows=not as_json)
    if as_json:
        click.echo(json.dumps(made, indent=1, ensure_ascii=False))
    elif made["result"]:
        click.echo(f"Result: {server.rstrip('/')}/results/{made['result']}/")
    _require_done(made, address, unless=_UNFINISHED)


def _launched(client: JsonClient, server: str, spec: Spec) -> Mapping[str, Any]:
    """Launch a spec on a console; return the launch as the API describes it."""
    queue = f"{server.rstrip('/')}/launches/"
    with _ending_here(f"If the launch has reached {server}, it goes on; see or cancel it: {queue}"):
        made: Mapping[str, Any] = client.call("POST", "/api/launches", {"toml": spec.to_toml()})
    return made


def _followed(
    client: JsonClient, server: str, made: Mapping[str, Any], *, shows: bool
) -> Mapping[str, Any]:
    """Return the launch when it has ended; show its progress."""
    said = ""
    address = _page_of(server, made)
    with _ending_here(f"The launch goes on at {server}; see or cancel it: {address}"):
        while made["state"] in _UNFINISHED:
            if shows and (words := _progress(made)) != said:
                click.echo(words)
                said = words
            time.sleep(_LOOK_EVERY_S)
            made = client.call("GET", f"/api/launches/{made['id']}")
    return made


def _page_of(server: str, made: Mapping[str, Any]) -> str:
    """Return the address of the page of a launch."""
    return f"{server.rstrip('/')}/launches/{made['id']}/"


def _require_done(made: Mapping[str, Any], address: str, *, unless: Collection[str] = ()) -> None:
    """Raise ExperimentError if a launch has not been done."""
    if made["state"] not in (_DONE, *unless):
        raise ExperimentError(f"The launch is {made['state']}: {made['reason'] or address}")


@contextmanager
def _ending_here(where: str) -> Iterator[None]:
    """End this program in one line after Ctrl-C: what the console does now, and where to see it.

    The error says the same if the console does not answer any more.
    """
    try:
        yield
    except KeyboardInterrupt:
        click.echo(f"\nInterrupted. {where}", err=True)
        sys.exit(early_signals.INTERRUPTED)
    except NoAnswerError as fault:
        raise NoAnswerError(f"{fault}. {where}") from fault


def _progress(launch: Mapping[str, Any]) -> str:
    """Return the state of a launch that has not ended, in a few words."""
    if launch["state"] == "running":
        return f"running, {launch['done_ratio']:.0%}: {launch['progress'] or 'it begins'}"
    starts_in_s = launch["starts_in_s"]
    begins = "" if starts_in_s is None else f", begins in about {duration(starts_in_s)}"
    return f"waiting, place {launch['position'] or 1}{begins}"


@click.command("export", cls=LabCommand)
@click.argument("name")
@of_server(required=True)
@click.option(
    "--to", type=click.Path(path_type=Path), help="The file to write; by default NAME.zip here."
)
def exported(
    name: str, server: str, token_file: Path | None, authority: Path | None, to: Path | None
) -> None:
    """Download a result from a console as a bundle.

    NAME is a name of `doorbuster results list --server URL`.
    """
    if name != Path(name).name or name.startswith("."):
        raise SpecError(f"NAME: {name!r:.80}; allowed: a name of `results list --server {server}`")
    target = to or Path(f"{name}.zip")
    if target.exists():
        raise SpecError(f"--to: {target} exists; allowed: a new file")
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
    """Send the bundle FILE to a console, which keeps it as an imported result."""
    with client_of(server, token_file, authority) as client, file.open("rb") as bundle:
        kept = client.upload("/api/results", bundle, file.stat().st_size, "application/zip")
    for words in kept["warnings"]:
        click.echo(words, err=True)
    click.echo(f"Imported: {server.rstrip('/')}/results/{kept['name']}/")


def rows_of(client: JsonClient) -> Iterator[Mapping[str, Any]]:
    """Yield the results of a console, page by page."""
    page = pages = 1
    while page <= pages:
        answer = client.call("GET", f"/api/results?{urlencode({'page': page})}")
        yield from answer["results"]
        page, pages = page + 1, answer["pages"]

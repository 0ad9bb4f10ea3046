"""The program `python -m gateway`, which runs the gateway until a signal ends it."""

import asyncio
import logging
import os
import signal
import sys
from typing import Any

import click
import uvloop

from common import hosts, pinned
from gateway import settings as gateway_settings
from gateway.http.pages import RulesError
from gateway.policies import PolicyError, registry
from gateway.service import Gateway
from gateway.settings import Settings, SettingsError

log = logging.getLogger("gateway")


def _options(command: click.Command) -> click.Command:
    """Add an option for each setting to the command."""
    for field, info in Settings.model_fields.items():
        help_text = f"{info.description} [env {gateway_settings.variable(field)}]"
        name = "--" + field.replace("_", "-")
        command.params.append(click.Option([name], help=help_text))
    return command


@_options
@click.command(context_settings={"help_option_names": ["-h", "--help"]})
def main(**options: Any) -> None:
    """Run Doorbuster's gateway, a reverse proxy whose policy picks the next request."""
    logging.basicConfig(
        level=logging.INFO, stream=sys.stderr, format="%(asctime)s %(name)s %(message)s"
    )
    sys.unraisablehook = complain
    try:
        settings = gateway_settings.read(os.environ, options)
        clean = uvloop.run(_serve(settings))
    except (SettingsError, RulesError, PolicyError) as error:
        raise click.ClickException(str(error)) from None
    if not clean:
        log.warning(
            "requests that did not end within %g s (drain_s) were cut off",
            settings.drain_s,
        )


async def _serve(settings: Settings) -> bool:
    pinned.raise_open_files()  # each customer needs a socket
    loop = asyncio.get_running_loop()
    registry.import_all()
    gateway = Gateway(settings, loop)
    await gateway.start()
    told_to_stop = asyncio.Event()
    for number in (signal.SIGTERM, signal.SIGINT):
        loop.add_signal_handler(number, told_to_stop.set)
    log.info(
        "listening for customers on %s; shop on %s, policy %s, admission %s, connection "
        "admission %s",
        " and ".join(gateway.addresses),
        hosts.authority(settings.shop_host, settings.shop_port),
        settings.policy,
        settings.admission,
        settings.connection_admission,
    )
    await told_to_stop.wait()
    for number in (signal.SIGTERM, signal.SIGINT):  # a second signal ends the process at once
        loop.remove_signal_handler(number)
    log.info("draining: %d requests still wait or are in service", gateway.parts.requests)
    return await gateway.drain()


def complain(about: Any) -> None:
    """Ignore an error in a non-ASCII server name; report other exceptions as Python does."""
    if about.exc_type is not UnicodeDecodeError or not isinstance(about.object, bytes):
        sys.__unraisablehook__(about)


if __name__ == "__main__":
    main()

"""The pages of the documentation that are written from the code, and `.env.example`: `make pages`
writes them, and a test compares them with the code.
"""

import subprocess
import sys
from collections.abc import Callable, Iterable
from functools import partial

from common.http_api import tables
from common.settings import SettingsModel, allowed, is_secret, see, shown_default, written
from dashboards import metrics_page
from gateway.admin import calls as gateway_calls
from gateway.http.exchange import TRANSITIONS, State
from gateway.settings import Settings as Gateway
from lab.analysis import metrics
from lab.cli import policy_sheets
from lab.students import policy_page
from runtime.settings import REPOSITORY
from runtime.settings import Settings as Appliance
from shop.ads.configuration import Configuration as AdServer
from shop.control import calls as controller_calls
from shop.environment import Environment as Shop

PARTS: dict[str, type[SettingsModel]] = {
    "appliance": Appliance,
    "gateway": Gateway,
    "shop": Shop,
    "ad server": AdServer,
}
"""The tables of the page; a part's table has what no other table has, the gateway's has all."""

_EXAMPLE_HEAD = """\
# Copy this file to .env and change what you need. The environment overrides this file.
# All settings, also those of single parts: docs/settings.md. `make pages` writes this
# file.
"""


def settings(text: str) -> str:
    """Return docs/settings.md with the tables of the present declarations in it."""
    for part in PARTS:
        rows = partial(lambda part: "\n".join(table(part)) + "\n", part)
        text = between(f"<!-- settings: {part} -->\n", "<!-- end -->\n", rows, text)
    return text


def table(part: str) -> Iterable[str]:
    """Yield the rows of a part's table."""
    model = PARTS[part]
    shared = {Appliance.variable(field) for field in Appliance.model_fields}
    has_options = part == "gateway"
    names = ["option", "variable"] if has_options else ["variable"]
    yield f"| {' | '.join([*names, 'default', 'allowed', 'meaning'])} |"
    yield f"| {' | '.join(['---'] * (len(names) + 3))} |"
    for field, info in model.model_fields.items():
        variable = model.variable(field)
        if part in ("shop", "ad server") and variable in shared:
            continue
        meaning = str(info.description)
        if found := see(info):
            meaning += f" ([more]({found.removeprefix('settings.md')}))"
        cells = [f"`{variable}`", shown_default(info), allowed(info), meaning]
        if has_options:
            cells.insert(0, f"`--{field.replace('_', '-')}`")
        yield f"| {' | '.join(cells)} |"


def example() -> str:
    """Return `.env.example`: every setting of the appliance, as a comment."""
    lines = [_EXAMPLE_HEAD]
    for field, info in Appliance.model_fields.items():
        if is_secret(info):
            continue
        words = "" if allowed(info) in ("text", "a path") else f" ({allowed(info)})"
        lines.append(f"# {info.description}{words}")
        default = info.get_default(call_default_factory=True)
        value = info.examples[0] if info.examples else written(default)
        lines.append(f"#{Appliance.variable(field)}={value}\n")
    return "\n".join(lines).replace("`", "")


ADMIN_API = """# The gateway's admin API

`make pages` writes this page from the models with which the gateway checks
calls. `/openapi.json` describes the same calls in a format for programs,
[OpenAPI](https://spec.openapis.org/oas/v3.1.0). [Gateway](gateway.md#admin-api) explains which
calls the gateway accepts, and shows calls with `curl`. [Metrics](metrics.md) lists the metrics that
`/metrics` returns.

The numbers after an answer are the HTTP statuses with which the gateway can [refuse](#refusal) the
call. It answers 401 to a call without [the inner token](settings.md#the-inner-token), if the token
is required, and 403 to a call with a wrong [host](settings.md#addresses).

"""

CONTROLLER_API = """# The shop's controller

`make pages` writes this page from the models with which the controller
checks calls. `/openapi.json` describes the same calls in a format for programs,
[OpenAPI](https://spec.openapis.org/oas/v3.1.0). [Metrics](metrics.md) lists the metrics that
`/metrics` returns.

The numbers after an answer are the HTTP statuses with which the controller can [refuse](#refusal)
the call. It answers 401 to a call without [the inner token](settings.md#the-inner-token), if the
token is required. It answers 403 to a call with a wrong [host](settings.md#addresses), and to a
call from a web page.

"""

CONSOLE_API = """# The console's API

`make pages` writes this page from the models with which the console
checks calls. `/api/openapi.json` describes the same calls in a format for programs,
[OpenAPI](https://spec.openapis.org/oas/v3.1.0). [Console](console.md#for-programs) explains tokens
and shows how to call the API with `curl` and with the command line.

The numbers after an answer are the HTTP statuses with which the console can [refuse](#refusal) the
call. Status 401 means that the token is missing or invalid, and 403 that the person lacks a
permission or has reached a limit. Status 429 means that there were too many calls. The header
`Retry-After` is then the number of seconds to wait before you repeat the call.

"""


def console_calls() -> str:
    """Return the tables of the console's calls. A process can have the settings of one Django
    site, so that another process writes them.
    """
    program = """
import os, django
os.environ["DJANGO_SETTINGS_MODULE"] = "lab.console.site.settings"
django.setup()
from common.http_api import tables
from lab.console.api import views
print(tables(views.openapi_document()), end="")
"""
    command = [sys.executable, "-c", program]
    return subprocess.run(
        command, cwd=REPOSITORY, stdout=subprocess.PIPE, text=True, check=True
    ).stdout


def states() -> str:
    """Return a diagram of the states and a table of their meanings. The diagram omits events that
    do not change the state.
    """
    lines = ["```mermaid", "stateDiagram-v2"]
    lines += [f'    state "{state.value}" as {state.name}' for state in State]
    lines += [f"    [*] --> {State.RECEIVING.name}"]
    lines += [
        f"    {state.name} --> {following.name}: {event.value}"
        for state, events in TRANSITIONS.items()
        for event, following in events.items()
        if following is not state
    ]
    lines += ["```", "", "| state | what it means |", "| --- | --- |"]
    lines += [f"| {state.value} | {state.meaning} |" for state in TRANSITIONS]
    return "\n".join(lines) + "\n"


def between(begin: str, end: str, make: Callable[[], str], text: str) -> str:
    """Return the text with a new part between two lines, which stay."""
    before, found, rest = text.partition(begin)
    if not found:
        raise ValueError(f"the page has no line {begin!r}")
    return before + begin + make() + end + rest.partition(end)[2]


PAGES: dict[str, Callable[[str], str]] = {
    ".env.example": lambda _: example(),
    "docs/settings.md": settings,
    "docs/admin-api.md": lambda _: ADMIN_API + tables(gateway_calls.document()),
    "docs/controller-api.md": lambda _: CONTROLLER_API + tables(controller_calls.document()),
    "docs/console-api.md": lambda _: CONSOLE_API + console_calls(),
    "docs/gateway.md": partial(
        between, "<!-- states of a request -->\n", "<!-- end of the states -->\n", states
    ),
    "docs/metrics.md": lambda _: metrics_page.page(),
    "docs/run-metrics.md": lambda _: metrics.page(),
    "docs/policy-api.md": lambda _: policy_page.page(),
    "docs/policies.md": lambda _: policy_sheets.as_markdown(policy_sheets.sheets()),
}
"""The function that makes each page from the present code and the present text."""


def main() -> None:
    """Write the pages that have changed, and print their names."""
    for name, make in PAGES.items():
        path = REPOSITORY / name
        text = path.read_text(encoding="utf-8")
        if (new := make(text)) != text:
            path.write_text(new, encoding="utf-8")
            print(name)


if __name__ == "__main__":
    try:
        main()
    except KeyboardInterrupt:
        print("Interrupted; the pages that were not printed are unchanged.", file=sys.stderr)
        sys.exit(130)

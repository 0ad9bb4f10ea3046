"""docs/settings.md and `.env.example` from the declarations: `python -m tests.settings_pages`."""

from collections.abc import Iterable

from common.settings import SettingsModel, allowed, is_secret, see, shown_default, written
from gateway.settings import Settings as Gateway
from runtime.settings import REPOSITORY
from runtime.settings import Settings as Appliance
from shop.ads.configuration import Configuration as AdServer
from shop.environment import Environment as Shop

PAGE = REPOSITORY / "docs" / "settings.md"
EXAMPLE = REPOSITORY / ".env.example"

PARTS: dict[str, type[SettingsModel]] = {
    "appliance": Appliance,
    "gateway": Gateway,
    "shop": Shop,
    "ad server": AdServer,
}
"""The tables of the page; a part's table has what no other table has, the gateway's has all."""

_EXAMPLE_HEAD = """\
# Copy this file to .env and change what you need. The environment overrides this file.
# All settings, also those of single parts: docs/settings.md. `python -m tests.settings_pages`
# writes this file.
"""


def page(text: str) -> str:
    """Return the page with the tables of the present declarations in it."""
    for part in PARTS:
        begin, end = f"<!-- settings: {part} -->\n", "<!-- end -->\n"
        before, found, rest = text.partition(begin)
        if not found:
            raise ValueError(f"{PAGE} has no line {begin!r}")
        text = before + begin + "\n".join(table(part)) + "\n" + end + rest.partition(end)[2]
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


if __name__ == "__main__":
    PAGE.write_text(page(PAGE.read_text(encoding="utf-8")), encoding="utf-8")
    EXAMPLE.write_text(example(), encoding="utf-8")

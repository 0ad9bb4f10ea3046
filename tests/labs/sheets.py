"""What only the tests need of the lab sheets: the course's form, links and addresses."""

import re
from pathlib import Path

from lab.lessons.sheet import FOLDER, Step

SECTIONS = (
    "Aim",
    "Before you start",
    "Steps",
    "Questions",
    "What you should find",
    "Going further",
)
STEPS_MIN = 60
"""The minutes of all steps of a sheet together."""
QUESTIONS_MIN = 30
"""Minutes that are left for its questions."""

_LINK = re.compile(r"(!?)\[([^\]]*)\]\(([^)\s]+)\)")
_URL = re.compile(r"https?://127\.0\.0\.1:\d+[^\s)>`'\"]*")


def prose(step: Step) -> str:
    """Return a step's text without its blocks, comments and addresses."""
    text = re.sub(r"```.*?```|<!--.*?-->", "", step.text, flags=re.DOTALL)
    return _URL.sub("", text)


def links(text: str) -> list[tuple[bool, str, str]]:
    """Return links and pictures of a text: whether each is a picture, its words, its target."""
    shown = re.sub(r"<!--.*?-->", "", text, flags=re.DOTALL)
    return [(bool(mark), words, where) for mark, words, where in _LINK.findall(shown)]


def addresses(text: str) -> list[str]:
    """Return the addresses of the running appliance that a text names."""
    return [found.rstrip(".,;:") for found in _URL.findall(text)]


def pages() -> list[Path]:
    """Return every page of the folder, the index and the instructor's among them."""
    return sorted(FOLDER.glob("*.md"))

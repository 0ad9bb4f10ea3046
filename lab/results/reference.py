"""Reference results: those that come with Doorbuster, in `lab/reference`.

Nothing changes them. `lab.cli.reference_results` makes them.

    lab/reference/<name>/
        reference.json   command, version, machine, date: the mark
        the files of any result (`results`), without raw logs where these are large
"""

from dataclasses import asdict, dataclass
from datetime import UTC, datetime
from pathlib import Path

from lab.errors import ExperimentError
from lab.files.documents import read_json, write_json

FOLDER = Path(__file__).parents[1] / "reference"
MARK = "reference.json"
CURVES = "curves.json"
"""The curves that `curves.curves_of` returns; kept where the raw logs are not."""
TITLE = "Reference (released)"


@dataclass(frozen=True, slots=True)
class Reference:
    """How a reference result was made."""

    command: str
    version: str
    """The commit."""
    machine: str
    written_at: str
    """ISO 8601, UTC."""
    took_real_s: float
    is_quick: bool
    """Whether it is of a smaller grid than the command without --quick makes."""
    text: str
    """A remark for readers of this reference."""

    @classmethod
    def read(cls, folder: Path) -> "Reference | None":
        """Return the mark of a result; None for a result that does not come with Doorbuster.

        A damaged mark is a mark: what counts is the place.
        """
        if not is_reference(folder):
            return None
        try:
            return cls(**read_json(folder / MARK))
        except (ExperimentError, TypeError):
            return cls("", "", "", "", 0.0, False, "")

    def write(self, folder: Path) -> None:
        """Mark the result."""
        write_json(folder / MARK, asdict(self))

    @property
    def at(self) -> datetime | None:
        """When it was made; None where the mark is damaged."""
        try:
            found = datetime.fromisoformat(self.written_at)
        except ValueError:
            return None
        return found if found.tzinfo else found.replace(tzinfo=UTC)

    @property
    def words(self) -> str:
        """Return how it was made, for people."""
        if self.at is None:
            return "how it was made cannot be read"
        return (
            f"made by “{self.command}” from commit {self.version} on {self.at:%Y-%m-%d}, "
            f"on {self.machine}"
        )


def is_reference(folder: Path) -> bool:
    """Whether a result folder comes with Doorbuster: nothing deletes, edits or resumes it."""
    return folder.resolve().parent == FOLDER


def folders() -> list[Path]:
    """Return the folders of all reference results, in the order of their names."""
    if not FOLDER.is_dir():
        return []
    return sorted(path for path in FOLDER.iterdir() if path.is_dir() and path.name[:1] != ".")

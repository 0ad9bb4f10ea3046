"""The reference results, which come with Doorbuster in `lab/reference`. Only
`lab.cli.reference_results` changes them.

    lab/reference/<name>/
        reference.json   command, version, machine and date
        the files of any result (`results`), without large raw logs
"""

from dataclasses import asdict, dataclass
from datetime import UTC, datetime
from pathlib import Path

from lab.errors import ExperimentError
from lab.files.documents import read_json, write_json

FOLDER = Path(__file__).parents[1] / "reference"
MARK = "reference.json"
CURVES = "curves.json"
"""The name of the file with the curves from `curves.curves_of`, for references without raw logs."""
TITLE = "Reference (released)"


@dataclass(frozen=True, slots=True)
class Reference:
    """The origin of a reference result."""

    command: str
    version: str
    """The commit of the code that made the result."""
    machine: str
    written_at: str
    """The time at which the result was made: ISO 8601, UTC."""
    took_real_s: float
    is_quick: bool
    """Whether the result was made with the option --quick, which makes it smaller."""
    text: str
    """A remark for readers of this reference."""

    @classmethod
    def read(cls, folder: Path) -> "Reference | None":
        """Return the origin of a reference result; None for a result that does not come with
        Doorbuster. If its file is damaged, the result still counts as a reference."""
        if not is_reference(folder):
            return None
        try:
            return cls(**read_json(folder / MARK))
        except (ExperimentError, TypeError):
            return cls("", "", "", "", 0.0, False, "")

    def write(self, folder: Path) -> None:
        write_json(folder / MARK, asdict(self))

    @property
    def at(self) -> datetime | None:
        """The time at which the result was made; None if it cannot be read."""
        try:
            found = datetime.fromisoformat(self.written_at)
        except ValueError:
            return None
        return found if found.tzinfo else found.replace(tzinfo=UTC)

    @property
    def words(self) -> str:
        """Return the origin as text."""
        if self.at is None:
            return "its origin cannot be read"
        return (
            f"made by “{self.command}” from commit {self.version} on {self.at:%Y-%m-%d}, "
            f"on {self.machine}"
        )


def is_reference(folder: Path) -> bool:
    """Return whether a result folder comes with Doorbuster."""
    return folder.resolve().parent == FOLDER


def folders() -> list[Path]:
    """Return the folders of all reference results, in the order of their names."""
    if not FOLDER.is_dir():
        return []
    return sorted(path for path in FOLDER.iterdir() if path.is_dir() and path.name[:1] != ".")

"""The reference results, which come with Doorbuster in `lab/reference`. Only
`lab.cli.reference_results` changes them.

    lab/reference/<name>/
        reference.json   command, version, machine and date
        the files of any result (`results`), without large raw logs
"""

from datetime import UTC, datetime
from pathlib import Path

from lab.errors import ExperimentError
from lab.files.documents import ReferenceForm, read, write_json

FOLDER = Path(__file__).parents[1] / "reference"
MARK = "reference.json"
CURVES = "curves.json"
"""The name of the file with the curves from `curves.curves_of`, for references without raw logs."""
TITLE = "Reference (released)"


class Reference(ReferenceForm):
    """The origin of a reference result."""

    @classmethod
    def read(cls, folder: Path) -> "Reference | None":
        """Return the origin of a reference result; None for a result that does not come with
        Doorbuster. If its file is damaged, the result still counts as a reference."""
        if not is_reference(folder):
            return None
        try:
            return read(folder / MARK, cls)
        except ExperimentError:
            return cls(
                command="",
                version="",
                machine="",
                written_at="",
                took_real_s=0.0,
                is_quick=False,
                text="",
            )

    def write(self, folder: Path) -> None:
        write_json(folder / MARK, self.model_dump())

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

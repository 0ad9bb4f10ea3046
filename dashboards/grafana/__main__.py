"""`python -m dashboards.grafana`, which writes the committed dashboards."""

import json

from dashboards.grafana.boards import boards
from dashboards.grafana.committed import FOLDER
from dashboards.grafana.frame import Board


def as_text(board: Board) -> str:
    return json.dumps(board.as_plain(), indent=1, ensure_ascii=False, sort_keys=True) + "\n"


def main() -> None:
    """Write every dashboard, and remove files of dashboards that no longer exist."""
    made = {f"{board.name}.json": as_text(board) for board in boards()}
    for name, text in made.items():
        (FOLDER / name).write_text(text, encoding="utf-8")
    for path in FOLDER.glob("*.json"):
        if path.name not in made:
            path.unlink()
    print(f"{len(made)} dashboards in {FOLDER}")


if __name__ == "__main__":
    main()

"""The cancelling benchmark's results: the table, the verdict."""

from rich.console import Console

from bench.cancel import ALONE, CROWD, shown, verdicts

ROWS = {
    (ALONE, "shop"): [float(n) for n in range(1, 11)],
    (ALONE, "gateway"): [2.0] * 9 + [21.0],
    (CROWD, "gateway"): [59.0],
    ("others compute", "gateway"): [1000.0],
}


def test_each_door_has_its_row():
    console = Console(width=120)
    with console.capture() as captured:
        console.print(shown(ROWS))
    rows = [
        [cell.strip() for cell in line.strip("│ ").split("│")]
        for line in captured.get().splitlines()
        if "│" in line
    ]
    assert rows[0] == [ALONE, "shop", "10", "1.0", "6.0", "10.0", "10.0", "10.0"]
    assert rows[2][:3] == [CROWD, "gateway", "1"]


def test_each_scene_with_an_aim_has_a_verdict():
    assert verdicts(ROWS) == {
        (ALONE, "shop"): (10.0, True),
        (ALONE, "gateway"): (21.0, False),
        (CROWD, "gateway"): (59.0, True),
    }

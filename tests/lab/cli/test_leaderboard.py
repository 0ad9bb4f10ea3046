"""`doorbuster leaderboard`: a tiny board from the command to its page, and what it refuses."""

import json

import pytest
from click.testing import CliRunner

from doorbuster.commands import main
from lab.leaderboard import BOARD_FILE
from lab.leaderboard.ablation import STEPS
from lab.results.comparison import ComparisonResult
from lab.spec.experiment import changed, load_spec

pytestmark = pytest.mark.slow


POLICIES = ",".join([*(key for key, _ in STEPS), "sq", "sq+sbac-hybrid"])
TINY = (
    *("--no-recovery", "--sessions", "60", "--repetitions", "2"),
    *("--rho", "1.4,2", "--policies", POLICIES),
)


@pytest.fixture(scope="module")
def results(tmp_path_factory):
    """Results of the module's own, and no appliance."""
    folder = tmp_path_factory.mktemp("results")
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("DOORBUSTER_RESULTS_DIR", str(folder))
        patch.setenv("DOORBUSTER_GATEWAY_ADMIN_PORT", "1")
        yield folder


@pytest.fixture(scope="module")
def board(results):
    done = CliRunner().invoke(main, ["leaderboard", *TINY])
    assert done.exit_code == 0, done.output
    (plan,) = results.glob("*/plan.json")
    return plan.parent, done.output


def test_it_prints_the_board_and_what_carries_the_gain(board):
    _, said = board
    assert "Revenue efficiency, estimated" in said
    assert "The gain of each rule of DOOR" in said
    assert "over 8Q-LIFO-Pri" in said
    assert "seconds until the answer or the timeout, ρ = 1.4" in said
    assert "report.html" in said


def test_a_program_gets_the_board_as_json(results, board):
    """The whole board is there already, so this call only draws it again."""
    folder, _ = board
    done = CliRunner().invoke(main, ["leaderboard", *TINY, "--json"])
    assert done.exit_code == 0, done.stderr
    assert json.loads(done.stdout) == json.loads((folder / BOARD_FILE).read_text())
    assert "Revenue efficiency, estimated" in done.stderr


def test_its_folder_is_a_comparison_and_a_board(board):
    folder, _ = board
    result = ComparisonResult.open(folder)
    assert len(result.whole_runs()) == len(result.plan()) == 7 * 2 * 2
    assert result.spec().leaderboard
    assert (folder / "tables.md").is_file()
    known = json.loads((folder / BOARD_FILE).read_text())
    assert known["loads"] == ["1.4", "2"]
    assert (known["made"], known["planned"]) == (28, 28)
    assert sorted(row["rank"] for row in known["rows"] if row["rank"]) == [1, 2, 3, 4]
    assert {row["policy"] for row in known["rows"] if row["rank"] is None} == {
        "static-stages", "Few hands", "Fresh door",
    }  # fmt: skip
    assert [step["policy"] for step in known["steps"]] == [key for key, _ in STEPS[1:]]
    assert known["leaders"].keys() == {"1.4", "2"}


def test_its_page_needs_nothing_else_and_decides_its_claims(board):
    folder, _ = board
    page = (folder / "report.html").read_text()
    assert "data:image/svg+xml;base64," in page
    assert "<script" not in page
    assert "Fairness at ρ = 1.4" in page
    claims = json.loads((folder / "claims.json").read_text())
    assert [claim["Claim"].split()[0] for claim in claims] == ["DOOR-LIFO", "Every", "No"]
    assert claims[1]["Holds"] == "yes"
    for key in ("board", "curves", "fairness"):
        assert (folder / f"figures/{key}.svg").is_file()


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        ("nothing", ["board", "robustness", "hysteresis", "fairness", "all"]),
        ("--engine imagined", ["simulated", "live"]),
        ("robustness --engine live", ["--engine live", "allowed: the parts board, hysteresis"]),
        ("all --engine live", ["--engine live", "allowed: the parts board, hysteresis"]),
        ("--engine live --processes 2", ["--processes", "allowed: with simulated"]),
        ("hysteresis --rho 2", ["--rho", "allowed: with board or fairness"]),
        ("robustness --json", ["--json", "robustness", "allowed: with board or fairness"]),
        ("bound --sessions 60", ["--sessions: bound has fixed lengths"]),
        ("--policies nope", ["--policies", "'nope' is unknown", "Few hands"]),
        ("--policies static-stages", ["--policies", "has no rank"]),
        ("tuning --policies pass-through", ["--policies", "no parameters of pass-through"]),
    ],
)
def test_what_cannot_be_meant_is_refused_in_one_line(results, arguments, words):
    done = CliRunner().invoke(main, ["leaderboard", *arguments.split()])
    assert done.exit_code == 2
    assert "Traceback" not in done.output
    (line,) = done.stderr.strip().splitlines()
    assert [word for word in words if word not in line] == [], line


def test_runs_without_a_buyer_have_no_board(results):
    """Two customers are usually no buyers; the message says what to change."""
    runs = ["--policies", "sq", "--sessions", "2", "--seed", "5", "--repetitions", "1"]
    done = CliRunner().invoke(main, ["leaderboard", "fairness", *runs])
    assert done.exit_code == 1
    assert "No customer of these runs planned to buy" in done.stderr
    assert "--sessions" in done.stderr


def test_runs_of_steps_alone_have_no_board(results, tmp_path):
    """A step has no rank, so there is nothing to compare it with."""
    spec = changed(
        load_spec("leaderboard"),
        policy=[{"name": "static-stages"}],
        load={"rho": [1.4], "sessions": 60},
        repetitions=1,
    )
    (tmp_path / "steps.toml").write_text(spec.to_toml())
    done = CliRunner().invoke(main, ["run", str(tmp_path / "steps.toml")])
    assert done.exit_code == 1
    assert "a step has no rank" in done.stderr


def test_every_policy_may_try_to_exceed_the_bound(results):
    done = CliRunner().invoke(main, ["leaderboard", "bound", "--quick", "--policies", "sq"])
    assert done.exit_code == 0, done.output
    assert "Share of the bound, runs of 500 sessions" in done.output
    assert "Does not hold" not in done.output
    (page,) = results.glob("*-leaderboard-bound-quick/report.html")
    assert "No policy exceeds the bound in runs of 2,400 sessions" in page.read_text()

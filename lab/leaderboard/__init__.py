"""The leaderboard: every policy with the same customers, compared with the capacity bound."""

SIMULATED_PARTS = ("robustness", "hysteresis", "bound")
"""The parts of the leaderboard that exist only as simulations; each has a separate report."""
TUNING_PART = "tuning"
"""The simulated part that `all` leaves out, because its result changes only if a policy changes."""
PARTS = ("board", *SIMULATED_PARTS, TUNING_PART, "fairness", "all")
"""The parts of `doorbuster leaderboard`."""

BOARD_FILE = "leaderboard.json"
"""The name of the file that marks a result folder as a board and holds the board's content."""
ROBUSTNESS = "leaderboard-robustness"
HYSTERESIS = "leaderboard-hysteresis"
TUNING = "leaderboard-tuning"
BOUND = "leaderboard-bound"
"""The names of the reports, which also occur in the names of their folders."""

"""The leaderboard: every policy with the same customers, compared with the capacity bound."""

SIMULATED_PARTS = ("robustness", "hysteresis", "bound")
"""The parts that exist only as simulations; each has a separate report."""
TUNING_PART = "tuning"
"""A simulated part that `all` leaves out, because its result changes only with the policies."""
PARTS = ("board", *SIMULATED_PARTS, TUNING_PART, "fairness", "all")
"""The parts of `doorbuster leaderboard`."""

BOARD_FILE = "leaderboard.json"
"""A file that marks a result folder as a board and holds its content."""
ROBUSTNESS = "leaderboard-robustness"
HYSTERESIS = "leaderboard-hysteresis"
TUNING = "leaderboard-tuning"
BOUND = "leaderboard-bound"
"""The names of the reports, which are parts of their folders' names."""

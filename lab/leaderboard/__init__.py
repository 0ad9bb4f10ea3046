"""The leaderboard: every policy with the same customers, compared with the capacity bound."""

SIMULATED_PARTS = ("robustness", "hysteresis", "bound")
"""Parts that are only simulated; each has a separate report."""
TUNING_PART = "tuning"
"""Simulated; not a part of `all`, because its result changes only with the policies."""
PARTS = ("board", *SIMULATED_PARTS, TUNING_PART, "fairness", "all")
"""The parts of `doorbuster leaderboard`."""

BOARD_FILE = "leaderboard.json"
"""A file that marks a result folder as a board and holds its content."""
ROBUSTNESS = "leaderboard-robustness"
HYSTERESIS = "leaderboard-hysteresis"
TUNING = "leaderboard-tuning"
BOUND = "leaderboard-bound"
"""The names of the reports, which are parts of their folders' names."""

"""The leaderboard, which compares all policies with the same customers and the same bound."""

SIMULATED_PARTS = ("robustness", "hysteresis", "bound")
"""The parts of the leaderboard that are simulated studies; each has a separate report. With the
live engine, `hysteresis` measures only the time to recover."""
TUNING_PART = "tuning"
"""The simulated part that `all` leaves out, because its result changes only if a policy changes."""
PARTS = ("board", *SIMULATED_PARTS, TUNING_PART, "fairness", "all")
"""The parts of `doorbuster leaderboard`."""

BOARD_FILE = "leaderboard.json"
"""The file with a board's content. A result folder with this file is a board."""
ROBUSTNESS = "leaderboard-robustness"
HYSTERESIS = "leaderboard-hysteresis"
TUNING = "leaderboard-tuning"
BOUND = "leaderboard-bound"
"""The names of the reports."""

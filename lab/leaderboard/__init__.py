"""The leaderboard: every policy with the same customers, compared with the capacity bound."""

SIMULATED_PARTS = ("robustness", "hysteresis", "bound")
"""Made in the simulator alone, each a report of its own."""
TUNING_PART = "tuning"
"""Simulated; no part of all, because its result changes only with the policies."""
PARTS = ("board", *SIMULATED_PARTS, TUNING_PART, "fairness", "all")
"""What `doorbuster leaderboard` makes."""

BOARD_FILE = "leaderboard.json"
"""In a result folder: that it is a board, and what stands on it."""
ROBUSTNESS = "leaderboard-robustness"
HYSTERESIS = "leaderboard-hysteresis"
TUNING = "leaderboard-tuning"
BOUND = "leaderboard-bound"
"""What the reports call themselves, and part of their folders' names."""

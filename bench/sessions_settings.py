"""The shop's settings with a session engine that `bench.sessions` compares."""

import os

from shop.settings import *  # noqa: F403

SESSION_ENGINE = os.environ["BENCH_SESSION_ENGINE"]

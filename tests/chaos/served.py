"""A check, ten times a second, that the shop serves pages through the gateway.

The pages are outside the eight page types, so an experiment does not count them. `/health/` needs
the database; `/cart/` of a customer with a cookie needs the sessions.
"""

import threading
import time
from collections import Counter

import requests

EVERY_S = 0.1
PATHS = ("/health/", "/cart/")


class Look:
    """A thread that checks from `start` until `stop`."""

    def __init__(self, shop_url: str) -> None:
        self._url = shop_url
        self._over = threading.Event()
        self._thread = threading.Thread(target=self._look, daemon=True)
        self._seen: list[tuple[float, str]] = []  # when it ended, what was wrong

    def start(self) -> None:
        self._thread.start()

    def stop(self) -> None:
        self._over.set()
        self._thread.join()

    def since(self, time_s: float) -> list[str]:
        """Return the fault of each check that ended after `time_s` (monotonic); empty texts are
        good."""
        return [wrong for ended_s, wrong in list(self._seen) if ended_s > time_s]

    def served_again_s(self, killed_s: float) -> float:
        """Return the seconds from then to the first good check after the last bad one; 0 without
        one."""
        seen = [one for one in list(self._seen) if one[0] > killed_s]
        bad = [index for index, (_, wrong) in enumerate(seen) if wrong]
        if not bad:
            return 0.0
        assert bad[-1] + 1 < len(seen), f"not served again: {seen[-1][1]}"
        return seen[bad[-1] + 1][0] - killed_s

    def failures(self, since_s: float) -> Counter[str]:
        """Return the bad checks by their faults."""
        return Counter(filter(None, self.since(since_s)))

    def _look(self) -> None:
        while not self._over.wait(EVERY_S):
            wrong = ""
            for path in PATHS:
                try:
                    answer = requests.get(
                        self._url + path, cookies={"sessionid": "a" * 32}, timeout=10
                    )
                except requests.RequestException:
                    wrong = "no answer"
                    break
                if answer.status_code != 200:
                    wrong = str(answer.status_code)
                    break
            self._seen.append((time.monotonic(), wrong))

"""The time for which a hostile policy's answer can stop the gateway: `python -m bench.own_answers`.

The gateway reads a policy's answers in its event loop. The maximum length of an answer grows with
the number of requests to which it can refer. This bench measures the answers within this limit that
take longest to read.
"""

import time
from typing import Final

import click

from common.one_line import OneLineCommand
from gateway.plain_json import Most
from gateway.students import wire

REQUESTS: Final = (1, 100, 1_000, 5_000, 20_000)
_SHAPES: Final = {
    "floats": ("[", "1.5,", "0]", 1),
    "empty lists": ("[", "[],", "0]", 2),
    "an object": ("{", '"0":0,', '"1":0}', 3),
    "verdicts": ("[[", '["dispatch",7],', '["dispatch",7]],null]', 3),
    "a text": ('"', "x", '"', 0),
}
"""The forms of hostile answers: beginning, repeated part, end, and values per repetition."""
_TIMES: Final = 5


def worst_s(requests: int) -> tuple[float, str]:
    """Return the CPU seconds that the slowest hostile answer takes, and the answer's name; the
    answers may refer to this number of requests.
    """
    most = wire.most_about(requests)
    return max(
        (min(_took_s(answer, most) for _ in range(_TIMES)), name) for name, answer in _answers(most)
    )


def _answers(most: Most) -> list[tuple[str, bytes]]:
    found = []
    for name, (begins, repeated, ends, values) in _SHAPES.items():
        by_bytes = (most.size_bytes - len(begins) - len(ends)) // len(repeated)
        by_values = (most.values - 10) // values if values else by_bytes
        for times in {
            by_bytes,
            min(by_bytes, by_values),
        }:  # refused without reading, and read completely
            found.append((name, (begins + repeated * times + ends).encode()))
    return found


def _took_s(answer: bytes, most: Most) -> float:
    began_s = time.thread_time()
    try:
        wire.decision_of(wire.unpacked(answer, most))
    except wire.WireError:
        return time.thread_time() - began_s
    raise AssertionError("a hostile answer was accepted as verdicts")


@click.command(cls=OneLineCommand)
def main() -> None:
    """Print the CPU time of the worst answer for several numbers of requests."""
    for requests in REQUESTS:
        took_s, name = worst_s(requests)
        click.echo(f"{requests:6,} requests: {took_s * 1000:5.1f} ms ({name})")


if __name__ == "__main__":
    main()

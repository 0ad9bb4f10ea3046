"""The cost of the session cookie for the gateway's thread, in nanoseconds per request.

Each value that `python -m bench.session_cookie` prints is the minimum of many short rounds, because
other work on the machine can only add CPU time.
"""

import secrets
import time
import timeit
from collections.abc import Callable
from itertools import cycle

from bench.harness import console_of, table
from gateway.clock import PaperClock
from gateway.http import forwarding, refusals
from gateway.http.limits import BodyLimits, HeadLimits
from gateway.http.request_reader import RequestHead, RequestReader
from gateway.http.session_cookie import SessionCookie
from gateway.http.sessions import Sessions

CALLS = 1000
ROUNDS = 400
COOKIE = SessionCookie(secrets.token_bytes(32))
SHOPS = b"csrftoken=2wGqYRtZ0bX1; sessionid=8hzn3k2m5q7r9t1v4w6y"


def request(cookies: bytes = b"") -> RequestHead:
    reader = RequestReader(HeadLimits(), BodyLimits())
    field = b"Cookie: %b\r\n" % cookies if cookies else b""
    reader.receive(
        b"GET / HTTP/1.1\r\nHost: shop\r\nUser-Agent: Mozilla/5.0\r\nAccept: text/html\r\n"
        b"Accept-Language: en\r\n" + field + b"\r\n"
    )
    head = reader.pull()
    assert isinstance(head, RequestHead)
    return head


def sessions(*, is_guarded: bool) -> Sessions:
    return Sessions(
        COOKIE,
        PaperClock(10),
        shop_cookie="sessionid",
        timeout_s=1800,
        is_guarded=is_guarded,
    )


def passed_on(head: RequestHead) -> Callable[[], bytes]:
    return lambda: forwarding.request_head(
        head,
        COOKIE,
        peer=b"127.0.0.1",
        scheme=b"http",
        own_host=b"shop",
        request_id=b"r-1",
        buffered_length_bytes=0,
    )


def cases() -> list[tuple[str, Callable[[], object]]]:
    without, known = sessions(is_guarded=False), sessions(is_guarded=True)
    stranger, shops = request(), request(SHOPS)
    new = known.of(stranger)
    cookie = known.set_cookie(new)
    assert cookie is not None
    bearer = request(SHOPS + b"; " + cookie.partition(b";")[0])
    session = known.of(bearer)
    assert not session.is_new
    # More cookies than the gateway caches, so that each is forgotten before it is used again.
    forgeries = [request(cookie.partition(b";")[0][:-5] + b"%05d" % n) for n in range(10_000)]
    forged = cycle(forgeries)
    return [
        ("no admission control: the session of a request", lambda: without.of(shops)),
        ("the session of a request, cookie seen before", lambda: known.of(bearer)),
        (
            "the session of a request, cookie not seen before (forged)",
            lambda: known.of(next(forged)),
        ),
        ("the session of a request, no cookie", lambda: known.of(stranger)),
        ("an answer that needs no new cookie", lambda: known.set_cookie(session)),
        ("an answer with a new cookie", lambda: known.set_cookie(new)),
        ("a request's head to the shop, without the gateway's cookie", passed_on(shops)),
        ("a request's head to the shop, with the gateway's cookie", passed_on(bearer)),
        ("rejection page", lambda: refusals.rejection_page("no new sessions for now", 30, 1.8e9)),
    ]


def main() -> None:
    drawn = table("CPU time of the gateway's thread", "what", "ns")
    for what, call in cases():
        least_s = min(timeit.repeat(call, timer=time.thread_time, number=CALLS, repeat=ROUNDS))
        drawn.add_row(what, f"{least_s / CALLS * 1e9:,.0f}")
    console_of(100).print(drawn)


if __name__ == "__main__":
    main()

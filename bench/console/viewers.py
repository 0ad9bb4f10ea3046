"""A watching class, simulated by one thread that reads streams of the console's watch page."""

import selectors
import socket
import threading
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager

_CHUNK_BYTES = 1 << 16
_LOOK_UP_EVERY_S = 0.2


@contextmanager
def watching(host: str, port: int, viewers: int) -> Iterator[None]:
    """Let `viewers` viewers read the watch page; the block begins once each has received its first
    byte.

    Raises RuntimeError if a stream ended before the block, because the run then had fewer viewers.
    """
    over = threading.Event()
    cut_off: list[str] = []
    with ExitStack() as stack, selectors.DefaultSelector() as ready:
        for _ in range(viewers):
            viewer = stack.enter_context(socket.create_connection((host, port), 60))
            viewer.sendall(f"GET /watch/stream HTTP/1.1\r\nHost: {host}\r\n\r\n".encode())
            if not viewer.recv(_CHUNK_BYTES):
                raise RuntimeError("the console ended a stream immediately")
            ready.register(viewer, selectors.EVENT_READ)

        def read() -> None:
            while not over.is_set():
                for key, _ in ready.select(_LOOK_UP_EVERY_S):
                    if not key.fileobj.recv(_CHUNK_BYTES):  # type: ignore[union-attr]
                        cut_off.append("the console ended a stream")
                        return

        reader = threading.Thread(target=read)
        reader.start()
        try:
            yield
        finally:
            over.set()
            reader.join()
    if cut_off:
        raise RuntimeError(cut_off[0])

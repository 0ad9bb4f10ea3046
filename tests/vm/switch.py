"""An Ethernet switch in this process, between the virtual machines of a lab and the world.

QEMU's user-mode network stands for the world. It answers every frame that it sees, so a plain hub
would let it answer for the other machines; a switch hands it only what is meant for it.
"""

import contextlib
import select
import socket
import threading

from common.hosts import LOOPBACK

FRAME = 65_536
STOPPED_WITHIN_S = 0.5


class Switch:
    """Frames as UDP datagrams, as QEMU's `-netdev dgram` sends them: one per frame."""

    def __init__(self) -> None:
        self._ports: dict[socket.socket, tuple[str, int]] = {}
        self._seen: dict[bytes, socket.socket] = {}
        self._stopped = threading.Event()
        self._thread = threading.Thread(target=self._forward, daemon=True)

    def plug(self, name: str) -> str:
        """Return the value of QEMU's `-netdev` for one more machine. All are plugged in before
        `start`."""
        here = _bound()
        there = _bound()
        machine: tuple[str, int] = there.getsockname()
        there.close()
        self._ports[here] = machine
        return (
            f"dgram,id={name},local.type=inet,local.host={LOOPBACK},local.port={machine[1]},"
            f"remote.type=inet,remote.host={LOOPBACK},remote.port={here.getsockname()[1]}"
        )

    def start(self) -> None:
        self._thread.start()

    def stop(self) -> None:
        self._stopped.set()
        if self._thread.is_alive():
            self._thread.join()
        for port in self._ports:
            port.close()

    def _forward(self) -> None:
        while not self._stopped.is_set():
            for port in select.select(list(self._ports), [], [], STOPPED_WITHIN_S)[0]:
                # A machine that is not there yet, or not any more, refuses the last frame.
                with contextlib.suppress(ConnectionRefusedError):
                    self._deliver(port, port.recv(FRAME))

    def _deliver(self, came_by: socket.socket, frame: bytes) -> None:
        to, sender = frame[:6], frame[6:12]
        self._seen[sender] = came_by
        meant = [self._seen[to]] if to in self._seen else list(self._ports)
        for port in meant:
            if port is not came_by:
                with contextlib.suppress(ConnectionRefusedError):
                    port.sendto(frame, self._ports[port])


def _bound() -> socket.socket:
    port = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
    port.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 2**22)
    port.bind((LOOPBACK, 0))
    return port

"""Find the key size with which a full handshake has the paper's share of a session's CPU time."""

import time
from collections.abc import Iterable
from dataclasses import dataclass
from math import log
from pathlib import Path

from lab.files.documents import read_json, write_json
from lab.machine.description import fingerprint
from runtime.settings import Settings

BITS = (2048, 3072, 4096, 5120, 6144, 7680, 8192)
PUBLISHED_RATIO = 0.175 / 1.33
"""The full handshake's share of a session's CPU time in the paper: 175 ms of 1.33 s (eDragon,
sections 3.2 and 5).
"""
_SIGN_REAL_S = 0.5
_LEAST_SIGNATURES = 5


@dataclass(frozen=True, slots=True)
class KeySize:
    """A key size and its effects; times are real seconds of CPU."""

    bits: int
    signature_s: float
    handshake_s: float
    session_ratio: float
    """The handshake's share of a session's CPU time."""
    length_ratio: float
    """The factor by which sessions must be longer so that the handshake has the published share."""


def signatures_s(lab: Settings, bits: Iterable[int] = BITS) -> dict[int, float]:
    """Return the CPU seconds of a signature for each key size.

    The result is stored for this machine, because large keys take a long time to generate.
    """
    path = lab.state_dir / "signatures.json"
    known = _known(path, fingerprint(lab))
    missing = [size for size in bits if size not in known]
    if missing:
        known |= {size: measured_signature_s(size) for size in missing}
        write_json(path, {"machine": fingerprint(lab), "signatures_s": known})
    return {size: known[size] for size in bits}


def sizes(
    signature_s: dict[int, float], *, handshake_s: float, own_signature_s: float, session_s: float
) -> list[KeySize]:
    """Return each key size with its handshake's share of a session.

    `handshake_s` and `session_s` were measured with a key whose signature costs `own_signature_s`.
    Each session has one full handshake. The key size changes only the cost of the signature.
    """
    rest_s = session_s - handshake_s
    found = []
    rest_per_handshake = 1 / PUBLISHED_RATIO - 1
    for bits, cost_s in signature_s.items():
        full_s = max(0.0, handshake_s - own_signature_s) + cost_s
        length_ratio = full_s * rest_per_handshake / rest_s
        found.append(KeySize(bits, cost_s, full_s, full_s / (rest_s + full_s), length_ratio))
    return found


def recommended(found: Iterable[KeySize], ratio: float = PUBLISHED_RATIO) -> KeySize:
    """Return the key size whose `session_ratio` differs from `ratio` by the smallest factor."""
    return min(found, key=lambda size: abs(log(size.session_ratio / ratio)))


def _known(path: Path, machine: str) -> dict[int, float]:
    if not path.is_file():
        return {}
    content = read_json(path)
    if content.get("machine") != machine:
        return {}
    return {int(size): float(cost_s) for size, cost_s in content["signatures_s"].items()}


def measured_signature_s(bits: int) -> float:
    """Return the CPU seconds of one signature with a new key of this size."""
    # The import is slow, and only measurements need it.
    from cryptography.hazmat.primitives import hashes
    from cryptography.hazmat.primitives.asymmetric import padding, rsa

    key = rsa.generate_private_key(public_exponent=65537, key_size=bits)
    made, began_s = 0, time.thread_time()
    while made < _LEAST_SIGNATURES or time.thread_time() < began_s + _SIGN_REAL_S:
        # TLS 1.3 signs with an RSA key in this way.
        key.sign(
            b"x" * 130,
            padding.PSS(padding.MGF1(hashes.SHA256()), padding.PSS.DIGEST_LENGTH),
            hashes.SHA256(),
        )
        made += 1
    return (time.thread_time() - began_s) / made

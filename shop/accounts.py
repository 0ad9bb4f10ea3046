"""Customers' accounts: how passwords are hashed, and the accounts the shop is seeded with.

Owns: the names and the one password of the seeded accounts. Must not know: pages, orders.
"""

from django.contrib.auth.hashers import PBKDF2PasswordHasher

SEEDED_ACCOUNTS = 1000
SEEDED_PASSWORD = "doorbuster-2005"


class QuickPBKDF2PasswordHasher(PBKDF2PasswordHasher):
    """Django's PBKDF2-SHA256 at so few iterations that a login fits in Tr-2's share of CPU.

    Real hashing, but weak: docs/decisions/0004-shop-password-hashing.md says why and what follows.
    """

    algorithm = "pbkdf2_sha256_quick"
    iterations = 1_000


def seeded_username(number: int) -> str:
    """`customer-0001` … `customer-1000`."""
    return f"customer-{number:04d}"

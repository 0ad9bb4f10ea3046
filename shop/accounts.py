"""Customers' accounts: the hashing of passwords, and the seeded accounts."""

from django.contrib.auth.hashers import PBKDF2PasswordHasher

SEEDED_ACCOUNTS = 1000
SEEDED_PASSWORD = "doorbuster-2005"


class QuickPBKDF2PasswordHasher(PBKDF2PasswordHasher):
    """Django's PBKDF2-SHA256 with few iterations, so that a login fits into the CPU time of Tr-2.

    The hashing is weak on purpose: see docs/decisions/0004-shop-password-hashing.md.
    """

    algorithm = "pbkdf2_sha256_quick"
    iterations = 1_000


def seeded_username(number: int) -> str:
    """Return the name of a seeded account: `customer-0001` to `customer-1000`."""
    return f"customer-{number:04d}"

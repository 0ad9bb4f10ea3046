"""The hashing of the passwords of customers' accounts."""

from django.contrib.auth.hashers import PBKDF2PasswordHasher


class QuickPBKDF2PasswordHasher(PBKDF2PasswordHasher):
    """Django's PBKDF2-SHA256 with few iterations, so that a login fits into the CPU time of Tr-2.

    The hashing is weak on purpose: see docs/decisions/0004-shop-password-hashing.md.
    """

    algorithm = "pbkdf2_sha256_quick"
    iterations = 1_000

"""The limits on logins. Each attempt is counted before its password is hashed, and only a few
passwords are hashed at the same time."""

import ipaddress
import math
import threading
import unicodedata
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from django.contrib.auth.forms import AuthenticationForm, PasswordChangeForm
from django.contrib.auth.hashers import PBKDF2PasswordHasher
from django.contrib.auth.models import User
from django.http import HttpRequest

from common.rate_limit import RateLimit
from lab.console.site import allowances


def normal_name(name: str) -> str:
    """Return the name without compatibility characters, as Django's login form reads it."""
    return unicodedata.normalize("NFKC", name)


def name_key(name: str) -> str:
    """Return the key by which names are compared. The key ignores capitals, compatibility
    characters, and spaces around the name.
    """
    return normal_name(normal_name(name).casefold()).strip()


def alike(name: str) -> User | None:
    """Return the account whose name is like this name; None if there is none."""
    wanted = name_key(name)
    known = User.objects.values_list("pk", "username")
    pk = next((pk for pk, one in known if name_key(one) == wanted), None)
    return None if pk is None else User.objects.get(pk=pk)


PER_NAME = RateLimit(allowances.LOGINS_PER_NAME, allowances.LOGINS_WITHIN_S)
"""The maximum number of wrong passwords for one name from one address."""
PER_ADDRESS = RateLimit(allowances.LOGINS_PER_ADDRESS, allowances.LOGINS_WITHIN_S)
"""The maximum number of wrong passwords from one address for all names, including names without an
account."""
MOST_WAITING = 64
"""The maximum number of logins that wait for a hash: a whole class can log in at once."""
PATIENCE_S = 20.0
"""The maximum time, in real seconds, that a login waits before the hashing of its password
begins."""


class TooManyError(Exception):
    """The error raised if a password cannot be checked for the next `wait_s` real seconds."""

    def __init__(self, wait_s: int, message: str) -> None:
        super().__init__(message)
        self.wait_s = wait_s


class ConcurrencyLimit:
    """A context manager that at most `most` callers can hold at a time. At most `most_waiting`
    further callers wait, each for at most `patience_s` real seconds; all other callers get
    TooManyError."""

    def __init__(self, most: int, *, most_waiting: int, patience_s: float) -> None:
        self._free = threading.Semaphore(most)
        self._may_wait = threading.Semaphore(most_waiting)
        self._patience_s = patience_s

    def __enter__(self) -> None:
        if self._free.acquire(blocking=False):
            return
        if not self._may_wait.acquire(blocking=False):
            raise self._refusal()
        try:
            if not self._free.acquire(timeout=self._patience_s):
                raise self._refusal()
        finally:
            self._may_wait.release()

    def __exit__(self, *_: object) -> None:
        self._free.release()

    def _refusal(self) -> TooManyError:
        return TooManyError(
            max(1, math.ceil(self._patience_s / 4)), "Many people are logging in at this moment."
        )


_CHECKS_AT_ONCE = ConcurrencyLimit(
    allowances.PASSWORDS_AT_ONCE, most_waiting=MOST_WAITING, patience_s=PATIENCE_S
)


class PasswordHasher(PBKDF2PasswordHasher):
    """Django's password hasher, with a limit on simultaneous hashes."""

    MADE_ITERATIONS = 10_000
    """The number of hash iterations for passwords that `made` hashes."""

    def encode(self, password: str, salt: str, iterations: int | None = None) -> str:
        with _CHECKS_AT_ONCE:
            return super().encode(password, salt, iterations)

    def made(self, password: str) -> str:
        """Return the hash of a generated password of at least 72 random bits. No attacker can try
        all such passwords, so a few iterations are enough."""
        return super().encode(password, self.salt(), self.MADE_ITERATIONS)

    def must_update(self, encoded: str) -> bool:
        """Return whether the next login hashes this password again; False if `made` hashed it.

        A hash with Django's number of iterations would take about 0.2 s of CPU time. For an account
        whose password `made` hashed, a wrong password is refused faster than for an unknown name.
        The time thus reveals that the account exists, but the names of a class are not secret.
        """
        if self.decode(encoded)["iterations"] == self.MADE_ITERATIONS:
            return False
        return bool(super().must_update(encoded))


def network_of(address: str) -> str:
    """Return the name under which login attempts from an address are counted: `loopback`, the /64
    network of an IPv6 address, or the address itself.

    One machine can use any address of loopback or of its /64 network, so the attempts from all
    these addresses are counted together.
    """
    try:
        known = ipaddress.ip_address(address)
    except ValueError:
        return address
    if isinstance(known, ipaddress.IPv6Address):
        if known.ipv4_mapped is None:
            network = ipaddress.ip_network((known, 64), strict=False)
            return "loopback" if known.is_loopback else str(network)
        known = known.ipv4_mapped
    return "loopback" if known.is_loopback else str(known)


def address_of(request: HttpRequest) -> str:
    """Return the address under which a login attempt in this request is counted."""
    return network_of(str(request.META.get("REMOTE_ADDR", "")))


@contextmanager
def counted(request: HttpRequest, name: str) -> Iterator[None]:
    """Count an attempt for this name and address before the block runs. Remove the attempt from the
    count if the password was right or was not checked. The block must check the password, and raise
    ValidationError if it is wrong. Raises TooManyError if a limit is reached.
    """
    address = address_of(request)
    limits = ((PER_ADDRESS, address), (PER_NAME, f"{address} {name_key(name)}"))
    reserved: list[tuple[RateLimit, str]] = []
    counts = True
    try:
        for limit, who in limits:
            if wait_s := limit.reserve(who):
                raise TooManyError(wait_s, "Too many wrong passwords.")
            reserved.append((limit, who))
        yield
        counts = False
    except TooManyError:  # the password was not tried
        counts = False
        raise
    finally:
        if not counts:
            for limit, who in reserved:
                limit.give_back(who)


class LoginForm(AuthenticationForm):
    """The form for name and password, with limits on wrong passwords."""

    def clean(self) -> dict[str, Any]:
        name = self.cleaned_data.get("username")
        if name is None or not self.cleaned_data.get("password"):
            return super().clean()
        assert self.request is not None  # the login page shows the error
        with counted(self.request, name):
            if account := alike(name):  # upper and lower case count as the same
                self.cleaned_data["username"] = account.get_username()
            return super().clean()


class ChangeForm(PasswordChangeForm):
    """The form for a new password. Each check of the old password counts as a login attempt."""

    def __init__(self, request: HttpRequest, *args: Any, **more: Any) -> None:
        super().__init__(*args, **more)
        self._request = request

    def clean_old_password(self) -> str:
        with counted(self._request, self.user.get_username()):
            return super().clean_old_password()

"""The accounts of the console, and the rules for their names. Two names that differ only in
capitals or compatibility characters, such as full-width letters, cannot both have an account."""

import csv
import logging
import secrets
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from importlib import import_module
from pathlib import Path

from django.conf import settings
from django.contrib.auth import SESSION_KEY
from django.contrib.auth.models import User
from django.core.exceptions import ValidationError
from django.db import IntegrityError, transaction
from django.db.models import Count
from django.utils import timezone

from lab.console.launches import queue
from lab.console.models import Launch, State, Token, forget_work
from lab.console.people import logins
from lab.console.people.logins import PasswordHasher
from lab.errors import FaultError

STANDARD_INPUT = "-"
MOST_NAMES = 500
"""The maximum number of students in one list."""
MOST_LIST_BYTES = 64 * 1024
MOST_NAME_LENGTH = 150
_LETTERS = "abcdefghjkmnpqrstuvwxyz23456789"
"""The characters of generated passwords, without i, l, o, 0 and 1, which look alike on paper."""


logger = logging.getLogger("lab.people")


class AccountError(FaultError, ValueError):
    """The error raised if an account cannot be created or changed; its text is one line."""


# ---- names ---------------------------------------------------------------------------------------


def check_name(name: str) -> None:
    """Raise AccountError if no account can have this name."""
    try:
        User.username_validator(name)
        is_valid = 0 < len(name) <= MOST_NAME_LENGTH
    except ValidationError:
        is_valid = False
    if not is_valid:
        raise AccountError(
            "name", f"{name!r:.80} is not valid", allowed="1 to 150 letters, digits and @ . + - _"
        )
    normal = logins.normal_name(name)
    if name != normal:
        raise AccountError(
            "name", f"{name!a:.80} has compatibility characters", allowed=f"{normal!a:.80}"
        )


def _known(name: str) -> User | None:
    """Return the account with exactly this name; None if there is no such account. Raises
    AccountError if the name is not valid, or if another account has a name that is alike."""
    check_name(name)
    account = User.objects.filter(username=name).first() or logins.alike(name)
    if account is not None and account.username != name:
        raise AccountError(
            "name",
            f"{name} is too similar to the existing name {account.username}",
            allowed="another name",
        )
    return account


# ---- lists of names ------------------------------------------------------------------------------


def names_in(text: str, source: str) -> list[str]:
    """Return the names in the first column of a CSV text. A heading `name` is ignored.

    Columns are separated by commas, semicolons or tabs. Raises AccountError if the names cannot be
    read, are missing, are too many or are repeated. The error's text begins with `source`.
    """
    lines = text.removeprefix("\ufeff").splitlines()
    first = next((line for line in lines if line.strip()), "")
    delimiter = next((one for one in ",;\t" if one in first), ",")
    try:
        rows = csv.reader(lines, delimiter=delimiter)
        found = [row[0].strip() for row in rows if row and row[0].strip()]
    except csv.Error as fault:
        raise AccountError(source, f"cannot be read ({fault})", allowed="CSV, UTF-8") from None
    if found and found[0].lower() == "name":
        del found[0]
    if not found:
        raise AccountError(
            source, "has no names", allowed="one name in the first column of each line"
        )
    if len(found) > MOST_NAMES:
        raise AccountError(source, f"has {len(found)} names", allowed=f"at most {MOST_NAMES}")
    by_key: dict[str, list[str]] = {}
    for name in found:
        by_key.setdefault(logins.name_key(name), []).append(name)
    twice = sorted(", ".join(same) for same in by_key.values() if len(same) > 1)
    if twice:
        raise AccountError(
            source, f"has a name more than once: {'; '.join(twice):.200}", allowed="each name once"
        )
    return found


def text_of(file: Path) -> str:
    """Return the text of a CSV file, or the text of the standard input if the file's name is
    STANDARD_INPUT. Raises AccountError if the text cannot be read or is too long."""
    try:
        source = 0 if str(file) == STANDARD_INPUT else file
        with open(source, "rb", closefd=source != 0) as opened:
            return decoded(opened.read(MOST_LIST_BYTES + 1), str(file))
    except OSError as fault:
        why = fault.strerror or fault
        raise AccountError(str(file), f"cannot be read ({why})", allowed="CSV, UTF-8") from None


def decoded(content: bytes, source: str) -> str:
    """Return the text of a list of names. Raises AccountError, whose text begins with `source`, if
    the list is too long or is not UTF-8."""
    if len(content) > MOST_LIST_BYTES:
        raise AccountError(source, "is too long", allowed=f"at most {MOST_LIST_BYTES:,} bytes")
    try:
        return content.decode("utf-8-sig")
    except UnicodeDecodeError as fault:
        raise AccountError(source, f"cannot be read ({fault})", allowed="CSV, UTF-8") from None


# ---- making accounts -----------------------------------------------------------------------------


def enrol(name: str, *, teacher: bool) -> str:
    """Create an account, or give an existing account a new password. Return the password.

    A student can become a teacher this way. Raises AccountError if a teacher would become a
    student, if the name is invalid or like another name, or if the account has no password.
    """
    password, hashed = _new_password()
    with transaction.atomic():
        account = _known(name) or User(username=name)
        if account.pk is not None and not account.has_usable_password():
            raise AccountError(
                "name",
                f"{name} signs in with a provider and has no password here",
                allowed="another name",
            )
        if account.is_staff and not teacher:
            raise AccountError(
                "name", f"{name} is a teacher", allowed="a name that is not a teacher's"
            )
        if teacher:
            account.is_staff = account.is_active = True
        _set(account, hashed)
    return password


def enrol_students(students: Iterable[str]) -> list[tuple[str, str]]:
    """Enrol each student, or none if a name is refused. Return the names and passwords."""
    with transaction.atomic():
        return [(name, enrol(name, teacher=False)) for name in students]


def make_students(
    students: Iterable[str], *, teacher: object
) -> tuple[list[tuple[str, str]], list[str]]:
    """Create accounts for new students. Return their names and passwords, and the names that
    already belong to accounts.

    Existing accounts are not changed. After an AccountError, no account has been created.
    """
    with transaction.atomic():
        wanted = list(dict.fromkeys(students))
        known = User.objects.filter(username__in=wanted).values_list("username", flat=True)
        existing = set(known)
        made = [(name, enrol(name, teacher=False)) for name in wanted if name not in existing]
    names_made = ", ".join(name for name, _ in made)
    logger.info("%s made %d students: %s", teacher, len(made), names_made)
    return made, [name for name in wanted if name in existing]


def _new_password() -> tuple[str, str]:
    """Return a new password of three groups of five letters and digits (74 random bits), and its
    hash."""
    groups = ("".join(secrets.choice(_LETTERS) for _ in range(5)) for _ in range(3))
    password = "-".join(groups)
    return password, PasswordHasher().made(password)


def _set(account: User, hashed: str) -> None:
    is_new = account.pk is None
    account.password = hashed
    account.save()
    if not is_new:  # a new account has no sessions, and a search would read all sessions
        end_sessions(account)


# ---- changing accounts ---------------------------------------------------------------------------


def reset_password(account: User) -> str:
    """Give the account a new password and end its sessions. Return the password."""
    password, hashed = _new_password()
    with transaction.atomic():
        current = User.objects.get(pk=account.pk)
        if not current.has_usable_password():
            raise AccountError(f"{current} signs in with a provider and has no password here.")
        _set(current, hashed)
    return password


def disable(account: User) -> None:
    """Disable the account: end its sessions, cancel its launches, and refuse later logins."""
    with transaction.atomic():
        _keep_a_teacher(account)
        User.objects.filter(pk=account.pk).update(is_active=False)
        end_sessions(account)
        _cancel_launches(account)


def enable(account: User) -> None:
    User.objects.filter(pk=account.pk).update(is_active=True)


def make_teacher(account: User) -> None:
    User.objects.filter(pk=account.pk).update(is_staff=True)


def make_student(account: User) -> None:
    """Make the account a student's account. Raises AccountError for the last teacher's account."""
    with transaction.atomic():
        _keep_a_teacher(account)
        User.objects.filter(pk=account.pk).update(is_staff=False)


def delete(account: User) -> None:
    """Delete the account with its sessions and its work on lessons, and cancel its launches. Its
    results and notes stay."""
    try:
        with transaction.atomic():
            _keep_a_teacher(account)
            end_sessions(account)
            _cancel_launches(account)
            forget_work(account.username)
            account.delete()
    except IntegrityError:  # rows of allauth, which only an active allauth deletes
        raise AccountError(
            f"{account} signed in with a provider that is switched off; switch on the provider, or "
            "disable the account."
        ) from None


CHANGES: dict[str, Callable[[User], object]] = {
    "password": reset_password,
    "disable": disable,
    "enable": enable,
    "teacher": make_teacher,
    "student": make_student,
    "delete": delete,
}
"""The changes that a teacher can apply to another account, by the last part of their URL."""


def change(account: User, name: str, *, teacher: object) -> object:
    """Apply the change `name` (a key of CHANGES). Raises AccountError if the change is not possible
    or the account is the teacher's own.
    """
    if account == teacher:
        raise AccountError("This is your own account. Only another teacher can change it.")
    result = CHANGES[name](account)
    logger.info("%s changed the account %s: %s", teacher, account, name)
    return result


def _keep_a_teacher(account: User) -> None:
    others = User.objects.filter(is_staff=True, is_active=True).exclude(pk=account.pk)
    if not others.exists():
        raise AccountError(f"{account} is the last teacher. First make another person a teacher.")


def _cancel_launches(account: User) -> None:
    for launch in unfinished(account):
        queue.cancel(launch)


def end_sessions(account: User) -> None:
    """Log the account out everywhere: all its session cookies and tokens become invalid."""
    Token.objects.filter(person=account).delete()
    store = import_module(settings.SESSION_ENGINE).SessionStore
    alive = store.get_model_class().objects.filter(expire_date__gt=timezone.now())
    for session in alive.iterator():
        if session.get_decoded().get(SESSION_KEY) == str(account.pk):
            session.delete()


# ---- looking at accounts -------------------------------------------------------------------------


@dataclass(frozen=True)
class Person:
    """An account with its waiting and running launches."""

    account: User
    waiting: int
    running: int


def unfinished(account: User) -> Sequence[Launch]:
    """Return the waiting and running launches of an account."""
    return list(Launch.objects.filter(by=account.username, state__in=(State.QUEUED, State.RUNNING)))


def everyone() -> list[Person]:
    """Return all people, sorted by name."""
    numbers = {
        (row["by"], row["state"]): row["number"]
        for row in Launch.objects.filter(state__in=(State.QUEUED, State.RUNNING))
        .order_by()
        .values("by", "state")
        .annotate(number=Count("pk"))
    }
    return [
        Person(
            one,
            numbers.get((one.username, State.QUEUED), 0),
            numbers.get((one.username, State.RUNNING), 0),
        )
        for one in sorted(User.objects.all(), key=lambda one: logins.name_key(one.username))
    ]

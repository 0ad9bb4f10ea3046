"""Logins: what is counted, when it is counted, and how many passwords are hashed at a time."""

import threading
from collections import Counter
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor

import pytest

from common.rate_limit import RateLimit
from lab.console.people.logins import ConcurrencyLimit, TooManyError, network_of
from lab.console.site import allowances
from tests.lab.console.conftest import PATIENCE_S, Console, run
from tests.lab.console.visitors import logged_in, visitor

pytestmark = pytest.mark.slow


MANY = 16
"""Attempts at the same time."""


@pytest.fixture(scope="module")
def passwords(classroom: Console, tmp_path_factory: pytest.TempPathFactory) -> dict[str, str]:
    """By name: of the teacher anna and of some students."""
    file = tmp_path_factory.mktemp("logins") / "class.csv"
    file.write_text("bob\ncarl\ndora\nemil\nfrida\ngerd\n")
    made = run(classroom, "students", str(file)).stdout + run(classroom, "teacher", "anna").stdout
    return dict(line.split(",") for line in made.split())


@pytest.fixture
def attempt(classroom: Console, passwords: dict[str, str]) -> Callable[..., int]:
    """A function (name, password) → status of the login, as a browser without history."""

    def made(name: str, password: str = "wrong") -> int:
        one = visitor(classroom)
        one.get("/people/login")
        return one.post("/people/login", {"username": name, "password": password}).status_code

    return made


def in_threads(number: int, action: Callable[[int], object]) -> list[object]:
    """Return the results of `action` for 0, 1, …, all begun at the same moment."""
    together = threading.Barrier(number)

    def begun(one: int) -> object:
        together.wait(PATIENCE_S)
        return action(one)

    with ThreadPoolExecutor(number) as pool:
        return list(pool.map(begun, range(number)))


def test_other_spellings_of_a_name_are_the_same_name(attempt, passwords):
    """Blanks, capitals and compatibility characters do not give a name more attempts."""
    spellings = ["bob", " bob", "\uff42ob", "b\uff4fb ", "BOB"]
    assert [attempt(name) for name in spellings] == [200] * 5
    for name in ("bob", "   b\uff4fb ", "\uff42\uff4f\uff42", "Bob"):
        assert attempt(name, passwords["bob"]) == 429


def test_a_name_can_be_typed_with_capitals(classroom, passwords):
    """The console logs the person in under the name of the account."""
    assert ">gerd</a>" in logged_in(classroom, "Gerd", passwords["gerd"]).get("/").text


def test_attempts_at_the_same_time_are_counted_before_hashing(attempt):
    tried = Counter(in_threads(MANY, lambda _: attempt("carl")))
    assert tried == {200: allowances.LOGINS_PER_NAME, 429: MANY - allowances.LOGINS_PER_NAME}


def test_right_passwords_are_not_counted(attempt, passwords):
    tried = [attempt("dora", passwords["dora"]) for _ in range(allowances.LOGINS_PER_NAME + 2)]
    assert set(tried) == {200}


def test_own_password_is_counted_as_a_login(classroom, passwords):
    """The page that changes a password gives a thief of a session no more attempts."""
    one = logged_in(classroom, "emil", passwords["emil"])
    wrong = {"old_password": "no", "new_password1": "a-Long-one-1", "new_password2": "a-Long-one-1"}
    answers = [one.post("/people/password", wrong) for _ in range(allowances.LOGINS_PER_NAME + 1)]
    assert [answer.status_code for answer in answers] == [200] * allowances.LOGINS_PER_NAME + [429]
    assert int(answers[-1].headers["Retry-After"]) > 0
    assert "You can try again in" in answers[-1].text


@pytest.mark.parametrize(
    ("address", "network"),
    [
        ("192.0.2.7", "192.0.2.7"),
        ("127.0.0.1", "loopback"),
        ("127.9.9.9", "loopback"),
        ("::1", "loopback"),
        ("::ffff:192.0.2.7", "192.0.2.7"),
        ("::ffff:127.0.0.3", "loopback"),
        ("2001:db8:1:2:3:4:5:6", "2001:db8:1:2::/64"),
        ("", ""),
        ("testclient", "testclient"),
    ],
)
def test_addresses_that_one_machine_can_choose_are_one(address, network):
    """A machine owns all of loopback and a whole IPv6 /64, so that each counts once."""
    assert network_of(address) == network


def test_a_limit_says_when_it_is_possible_again_and_takes_places_back():
    now = [100.0]
    limit = RateLimit(2, 10.0, clock=lambda: now[0])
    assert [limit.reserve(key) for key in ("a", "a", "b")] == [0, 0, 0]
    now[0] = 104.0
    assert (limit.reserve("a"), limit.reserve("b")) == (6, 0)
    limit.give_back("a")
    assert (limit.reserve("a"), limit.reserve("a")) == (0, 6)
    now[0] = 110.0
    assert limit.reserve("a") == 0


def test_a_limit_reserves_exactly_its_number_for_threads():
    limit = RateLimit(5, 60.0)
    waits = in_threads(MANY, lambda _: limit.reserve("bob"))
    assert sorted(wait > 0 for wait in waits) == [False] * 5 + [True] * (MANY - 5)


def test_at_most_two_passwords_are_hashed_at_a_time():
    """Others wait for a place, and are refused with a time when it takes too long."""
    places = ConcurrencyLimit(2, most_waiting=1, patience_s=0.05)
    with places, places:
        with pytest.raises(TooManyError) as refused, places:
            pytest.fail("a third was hashed")
        assert refused.value.wait_s >= 1
    with places:
        pass


def test_a_place_for_hashing_is_passed_on():
    places = ConcurrencyLimit(1, most_waiting=1, patience_s=PATIENCE_S)
    entered = threading.Event()

    def wait() -> None:
        with places:
            entered.set()

    with places:
        other = threading.Thread(target=wait)
        other.start()
        assert not entered.wait(0.05)
    other.join(PATIENCE_S)
    assert entered.is_set()


def test_names_without_an_account_count_for_their_address(attempt, passwords):
    """Random names cannot make the console hash without end; a right password waits, too."""
    tried = Counter(
        in_threads(MANY, lambda one: [attempt(f"nobody-{one}-{again}") for again in range(4)])[0]
    )
    assert set(tried) <= {200, 429}
    assert attempt("gerd", passwords["gerd"]) == 429


def test_a_made_password_is_not_hashed_again_at_login():
    """A generated password keeps its few iterations; any other gets as many as Django wants."""
    from lab.console.people.logins import PasswordHasher

    hasher = PasswordHasher()
    made = hasher.made("k4f6t-t2vny-ahdwm")
    assert hasher.verify("k4f6t-t2vny-ahdwm", made)
    assert not hasher.must_update(made)
    old = hasher.encode("chosen", hasher.salt(), 20_000)
    assert hasher.must_update(old)

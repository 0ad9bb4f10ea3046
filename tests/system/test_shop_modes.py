"""What becomes of a request whose customer has left, by what the shop's sentry does about it."""

import pytest

from tests.system.chain import WAYS, answer, leave

pytestmark = pytest.mark.slow


ways = pytest.mark.parametrize("how", WAYS)


@pytest.fixture
def mode(shop):
    """Sets the sentry's mode; `cancel` again afterwards."""

    def mode(wanted):
        assert shop.request(f"/mode/{wanted}/") == (200, wanted)

    yield mode
    mode("cancel")


class TestWithoutSentry:
    @pytest.fixture(autouse=True)
    def off(self, mode):
        mode("off")

    @ways
    def test_the_worker_is_taken_until_the_page_ends(self, one_worker, database, how):
        before, key = one_worker.snapshot(), f"off-{how}"
        with one_worker.customer() as customer, one_worker.customer() as second:
            with database.holding(4):
                customer.send(f"/write/{key}/", "POST")
                database.expect_begun(f"{key} waits")
                second.send("/echo/4/")
                one_worker.has(waiting=1)
                leave(customer, how)
                one_worker.has_left(before)
                one_worker.has(in_service=1, waiting=1)
            assert answer(second) == (200, b"4")
        assert database.written(key) == [key]
        one_worker.expect_settled(before, arrived=2, dispatched=2, orphaned=1, answered=1)

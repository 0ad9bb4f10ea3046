"""Whether a Redis answers, on real ones."""

from runtime import ports, redis_server
from runtime.state import State
from tests.conftest import serving


def test_one_that_asks_for_a_password_answers(tmp_path):
    """As those of lab hosts do (ansible/roles/redis); who has the password is not asked here."""
    state = State(tmp_path / "state")
    state.make()
    store = redis_server.Store(redis_server.find(None), state.redis, ports.free(1)[0])
    assert "refused" in redis_server.refusal(store.port)
    redis_server.prepare(store)
    command = [*store.command(), "--requirepass", "secret"]
    with serving(command, lambda: redis_server.refusal(store.port), tmp_path / "redis.log"):
        assert redis_server.refusal(store.port) is None

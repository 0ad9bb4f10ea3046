"""The check that a Redis answers, on real servers."""

import os
import shutil

import psutil
import pytest
import redis

from common import ports
from runtime import accounts, settings
from runtime.native import redis_server
from runtime.state import State
from tests.conftest import serving
from tests.runtime import conftest

PASSWORD = "a 'secret' %/@\\ of \"theirs\""


@pytest.fixture(scope="module")
def folder():
    with conftest.open_folder() as made:
        yield made


def test_one_that_asks_for_a_password_answers(tmp_path):
    state = State(tmp_path / "state")
    state.make()
    store = redis_server.Store(redis_server.find(None), state.redis, ports.free(1)[0])
    assert "refused" in redis_server.refusal(store.port)
    redis_server.prepare(store)
    command = [*store.command(), "--requirepass", "secret"]
    with serving(command, lambda: redis_server.refusal(store.port), tmp_path / "redis.log"):
        assert redis_server.refusal(store.port) is None


@pytest.fixture(scope="module")
def locked(folder):
    """Run a server that requires PASSWORD; as root under another account."""
    run_as = accounts.for_database()
    installation = redis_server.find(None, folder, run_as)
    [port] = ports.free(1)
    store = redis_server.Store(installation, folder, port, PASSWORD, run_as)
    redis_server.prepare(store)
    user = run_as.name if run_as else None
    with serving(
        store.command(), lambda: redis_server.refusal(port), folder / "redis.log", user=user
    ) as server:
        yield store, server


def test_who_has_no_password_gets_nothing_out_of_it(locked):
    store, _ = locked
    with redis.Redis(port=store.port) as anybody, pytest.raises(redis.AuthenticationError):
        anybody.get("session")
    address = settings.redis_address("127.0.0.1", store.port, PASSWORD)
    with redis.Redis.from_url(f"{address}/1") as ours:
        ours.set("session", "x")
        assert ours.get("session") == b"x"


def test_it_writes_no_files_and_runs_no_scripts_for_anybody(locked):
    store, _ = locked
    with redis.Redis(port=store.port, password=PASSWORD) as ours:
        assert ours.config_get("dir")["dir"] == str(store.folder)
        for command in (
            *(["CONFIG", "SET", "dir", "/tmp"], ["SAVE"], ["MODULE", "LIST"]),
            *(
                ["EVAL", "return 1", "0"],
                ["SCRIPT", "LOAD", "return 1"],
            ),  # Celery's queues need Lua
        ):
            with pytest.raises(redis.exceptions.NoPermissionError):
                ours.execute_command(*command)
    assert "-@scripting" not in redis_server.access(PASSWORD)


def test_the_password_is_in_no_file_and_no_command_line(locked):
    store, server = locked
    assert PASSWORD not in store.configuration_file.read_text()
    assert PASSWORD not in " ".join(psutil.Process(server.pid).cmdline())


@pytest.mark.skipif(os.geteuid() != 0, reason="only root gives up anything")
def test_root_runs_it_as_another(locked):
    _, server = locked
    assert psutil.Process(server.pid).uids().real != 0


@pytest.mark.skipif(
    os.geteuid() != 0, reason="only root has folders that are closed to another account"
)
def test_the_embedded_one_is_copied_to_where_the_account_reaches_it(folder, tmp_path, monkeypatch):
    hidden = tmp_path / "hidden" / "redis-server"
    hidden.parent.mkdir(mode=0o700)
    [embedded] = [path for path, origin in redis_server.candidates() if origin == "embedded"]
    shutil.copy2(embedded, hidden)
    monkeypatch.setattr(redis_server, "candidates", lambda: [(hidden, "embedded")])
    found = redis_server.find(None, folder, accounts.for_database())
    assert found.program.parent == folder
    assert redis_server.find(None, folder, None).program == hidden


@pytest.mark.parametrize("program", redis_server.PROGRAMS)
def test_a_chosen_folder_may_hold_redis_or_valkey(tmp_path, program):
    shutil.copy2(redis_server.find(None).program, tmp_path / program)
    assert redis_server.find(tmp_path).program == tmp_path / program
    assert redis_server.find(tmp_path / program).version == redis_server.find(None).version


def test_a_chosen_folder_without_either_is_refused_with_both_names(tmp_path):
    with pytest.raises(redis_server.RedisError, match=r"DOORBUSTER_REDIS_BIN=.*valkey-server"):
        redis_server.find(tmp_path)


def test_the_system_s_valkey_comes_before_the_embedded_one(tmp_path, monkeypatch):
    shutil.copy2(redis_server.find(None).program, tmp_path / "valkey-server")
    monkeypatch.setenv("PATH", str(tmp_path))
    found = redis_server.find(None)
    assert (found.program, found.origin) == (tmp_path / "valkey-server", "system")

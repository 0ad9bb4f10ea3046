"""A client that leaves, in every way and in every state of its request, stops its query."""

import pytest

WAYS = ("close", "reset", "half_close")


@pytest.mark.parametrize("kind", ["threaded", "sync"])
@pytest.mark.parametrize("way", WAYS)
def test_the_query_of_a_client_that_left_is_gone(request, database, kind, way):
    project = request.getfixturevalue(kind)
    tag = f"{kind}-{way}"
    before = project.state()
    with project.client() as client:
        client.send(f"/sleep/{tag}/")
        database.has_begun(tag)
        getattr(client, way)()
        database.is_gone(tag)
        if way == "half_close":
            assert client.everything() == b""  # closed without a word: nobody reads it
    project.has_counted(
        before, disconnects=1, cancels_attempted=1, cancels_effective=1, interrupted=1
    )

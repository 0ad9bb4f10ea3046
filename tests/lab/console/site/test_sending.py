"""Files for an event loop: piece by piece, in threads, closed in the end."""

import asyncio
import threading

from lab.console.site.sending import in_threads


def test_pieces_come_whole_in_order_from_other_threads():
    threads = set()

    def pieces():
        for piece in (b"a", b"bc", b"d"):
            threads.add(threading.get_ident())
            yield piece

    async def gathered():
        return [piece async for piece in in_threads(pieces())], threading.get_ident()

    found, here = asyncio.run(gathered())
    assert found == [b"a", b"bc", b"d"]
    assert here not in threads


def test_a_file_is_served_as_it_is_without_a_word_in_the_log(console):
    page = console.get("/").text
    answer = console.get(page.split('rel="stylesheet" href="')[1].split('"')[0])
    assert answer.status_code == 200
    assert answer.text.endswith("}\n")
    assert "StreamingHttpResponse" not in (console.state.parent / "serve.log").read_text()

"""Server-sent events: the watch's looks for as many viewers as there are.

Owns: the stream. Must not know: what is in a look. A stream is a coroutine: it holds no thread.
"""

from collections.abc import AsyncIterator

from django.http import HttpRequest, HttpResponseBase, StreamingHttpResponse


async def stream(request: HttpRequest) -> HttpResponseBase:
    """`history` once, then a `look` twice a second, until the viewer leaves or the server ends.

    With `?glance` nothing is asked for that only the watch page shows. A browser that lost the
    stream says which look it saw last, and is told what came after.
    """
    from lab.console.asgi import watch

    closely = "glance" not in request.GET
    last_seen = request.headers.get("Last-Event-ID", "")

    async def events() -> AsyncIterator[bytes]:
        yield b"retry: 1000\n\n"
        looks = watch.follow(last_seen, closely=closely)
        try:
            async for look in looks:
                yield look
        finally:
            await looks.aclose()

    response = StreamingHttpResponse(events(), content_type="text/event-stream")
    response["Cache-Control"] = "no-store"
    response["X-Accel-Buffering"] = "no"
    return response

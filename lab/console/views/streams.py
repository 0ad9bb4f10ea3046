"""Server-sent events: the watch's looks for as many viewers as there are.

Owns: the stream. Must not know: what is in a look. A stream is a coroutine: it holds no thread.
"""

import asyncio
from collections.abc import AsyncIterator

from django.http import HttpRequest, HttpResponseBase, StreamingHttpResponse

from lab.console.watching import event

COMMENT_EVERY_S = 15.0


async def stream(request: HttpRequest) -> HttpResponseBase:
    """`history` once, then a `look` twice a second, until the viewer leaves."""
    from lab.console.asgi import watch

    async def events() -> AsyncIterator[bytes]:
        yield b"retry: 2000\n\n"
        yield event("history", {"frames": list(watch.frames)})
        frames = watch.follow()
        try:
            async for frame in frames:
                yield event("look", frame)
        except asyncio.CancelledError:
            raise
        finally:
            await frames.aclose()

    response = StreamingHttpResponse(events(), content_type="text/event-stream")
    response["Cache-Control"] = "no-store"
    response["X-Accel-Buffering"] = "no"
    return response

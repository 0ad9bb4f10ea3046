"""Downloads, and a middleware that sends files piece by piece. Without this middleware, Django
would read the whole file into memory before it sends the first byte. Threads read the pieces, so
the event loop never waits.
"""

from collections.abc import AsyncIterator, Awaitable, Callable, Iterator
from functools import partial
from pathlib import Path

from asgiref.sync import sync_to_async
from django.http import (
    Http404,
    HttpRequest,
    HttpResponse,
    HttpResponseBase,
    StreamingHttpResponse,
)
from django.utils.decorators import async_only_middleware
from django.utils.http import content_disposition_header
from django.views import static


def attached(content: bytes | str, kind: str, name: str) -> HttpResponse:
    """Return a download with this media type and file name."""
    disposition = {"Content-Disposition": content_disposition_header(True, name) or ""}
    return HttpResponse(content, content_type=kind, headers=disposition)


def file_of(request: HttpRequest, name: str, folder: Path) -> HttpResponseBase:
    """Return a file of this folder. Raises Http404 if the folder has no such file, also if the name
    is longer than the file system allows."""
    try:
        return static.serve(request, name, document_root=str(folder))
    except OSError as fault:
        raise Http404 from fault


@async_only_middleware
def SendingMiddleware(  # noqa: N802 - named as every middleware
    get_response: Callable[[HttpRequest], Awaitable[HttpResponseBase]],
) -> Callable[[HttpRequest], Awaitable[HttpResponseBase]]:
    """Send files in pieces. This middleware comes before WhiteNoise, so it also handles the static
    files."""

    async def middleware(request: HttpRequest) -> HttpResponseBase:
        response = await get_response(request)
        if isinstance(response, StreamingHttpResponse) and not response.is_async:
            pieces = response.streaming_content
            assert isinstance(pieces, Iterator)
            response.streaming_content = in_threads(pieces)
        return response

    return middleware


async def in_threads(pieces: Iterator[bytes]) -> AsyncIterator[bytes]:
    """Yield the pieces, each read in a thread. An empty piece marks the end."""
    take = sync_to_async(partial(next, pieces, b""))
    while piece := await take():
        yield piece

"""The console as an ASGI application, and the tasks that run in its background."""

import asyncio
import logging
import os

os.environ.setdefault("DJANGO_SETTINGS_MODULE", "lab.console.site.settings")

from django.core.asgi import get_asgi_application

django_application = get_asgi_application()

from asgiref.sync import sync_to_async  # noqa: E402 - Django is set up first

from lab.console.gallery import cards  # noqa: E402
from lab.console.launches import queue, workers  # noqa: E402
from lab.console.models import Launch, State  # noqa: E402
from lab.console.site import uploads  # noqa: E402
from lab.console.site.allowances import TEACHER  # noqa: E402
from lab.console.site.settings import LAB  # noqa: E402
from lab.console.watch.live_run import watch  # noqa: E402
from runtime import monitoring  # noqa: E402

KEEP_EVERY_S = 2.0
logger = logging.getLogger("lab.console")


pages = uploads.bounded(django_application, uploads.allowed_bytes)


@sync_to_async
def _first_look() -> None:
    """Launch *First look* if the database has no launch yet, so that a new class sees a run in
    progress. FIRST_LOOK=0 prevents this launch."""
    if LAB.first_look and not Launch.objects.exists():
        card = cards.card("first-look")
        assert card is not None
        launch = card.experiment.launch(TEACHER)
        launch.gives_way = True
        queue.enqueue(launch)


@sync_to_async
def _keep() -> None:
    queue.reap()
    workers.end_left_overs()
    monitoring.forget_dead(LAB.state_dir)
    if Launch.objects.filter(state=State.QUEUED).exists():
        workers.tell()


async def _keeper() -> None:
    """Queue the first launch, then find launches whose worker has died, and wake the workers when a
    launch waits."""
    has_looked = False
    while True:
        try:
            if not has_looked:
                await _first_look()
                has_looked = True
            await _keep()
        except Exception:  # the broker or the disk may be away; the next try comes soon
            logger.exception(
                "the queue of launches could not be checked; next try in %g s", KEEP_EVERY_S
            )
        await asyncio.sleep(KEEP_EVERY_S)


async def application(scope: uploads.Scope, receive: uploads.Receive, send: uploads.Send) -> None:
    """Serve Django, and start and stop the background tasks with the server."""
    if scope["type"] != "lifespan":
        await pages(scope, receive, send)
        return
    tasks: list[asyncio.Task[None]] = []
    while True:
        message = await receive()
        if message["type"] == "lifespan.startup":
            tasks = [asyncio.create_task(watch.run()), asyncio.create_task(_keeper())]
            await send({"type": "lifespan.startup.complete"})
        else:
            for task in tasks:
                task.cancel()
            await asyncio.gather(*tasks, return_exceptions=True)
            await send({"type": "lifespan.shutdown.complete"})
            return

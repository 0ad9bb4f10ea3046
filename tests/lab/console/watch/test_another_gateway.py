"""The events that a late viewer gets after a gateway restarts or a proxy goes."""

import asyncio
import json
from contextlib import aclosing, contextmanager

from gateway.policies.interface import PAGES
from lab.console.watch.broadcast import Watch
from runtime.settings import load
from tests.lab.console.conftest import PATIENCE_S
from tests.lab.console.gateway_scene import Scene, answering, counted

RUN = {
    "experiment": "20261122T120000Z-rush",
    "run": 1,
    "words": "run 1/2: SQ",
    "load_factor": 1.0,
    "load_words": "load × 1",
}


class Shown(Scene):
    """A scene with the run and the proxy that go on at the same time."""

    run = proxy = None


@contextmanager
def looked_at(scene):
    """The watch of a gateway that says what `scene` does."""
    with answering(scene) as port:
        lab = load().changed(gateway_admin_port=port)
        yield Watch(lab, lambda: scene.run, proxy_now=lambda: scene.proxy)


def seen_of(watch, scene, *changes):
    """The history of who comes after these changes, each of which was looked at."""

    async def scenes():
        looking = asyncio.create_task(watch.run())
        async with asyncio.timeout(PATIENCE_S), aclosing(watch.follow(closely=False)) as looks:
            await anext(looks)
            for change in changes:
                for name, value in change.items():
                    setattr(scene, name, value)
                await anext(looks)  # may have been under way already
                await anext(looks)
            history = await first_of(watch)
        looking.cancel()
        await asyncio.gather(looking, return_exceptions=True)
        return history

    return asyncio.run(scenes())


async def first_of(watch, after=""):
    async with aclosing(watch.follow(after, closely=False)) as late:
        name, _, data = (await anext(late)).decode().strip().split("\n")
    assert name == "event: history"
    return json.loads(data.removeprefix("data: "))


def test_a_gateway_started_anew_leaves_no_mark_and_no_figure_of_before():
    scene = Shown()
    with looked_at(scene) as watch:
        history = seen_of(watch, scene, {"run": RUN}, {"run": None, "time_s": 1.0, "confirms": 2})
        assert [mark["kind"] for mark in history["marks"]] == ["end"]
        assert {frame["time_s"] for frame in history["frames"]} == {1.0}
        # Who has missed its start is told all, too.
        before = watch.frames[0]["number"] - 3
        assert asyncio.run(first_of(watch, f"{watch.name}-{before}"))["frames"]


def test_after_a_proxies_run_its_figures_stay_those_of_the_last_run():
    scene = Shown()
    proxy = {"policy": scene.answer("/snapshot")["policy"], "counts": counted(7)}
    with looked_at(scene) as watch:
        shown = ({"run": RUN}, {"proxy": proxy}, {"run": None, "proxy": None})
        history = seen_of(watch, scene, *shown)
    assert [mark["kind"] for mark in history["marks"]] == ["start", "end"]
    newest = history["frames"][-1]
    base = history["marks"][0]["base"]
    assert newest["counts"]["answered"] - base["counts"]["answered"] == 7 * len(PAGES)

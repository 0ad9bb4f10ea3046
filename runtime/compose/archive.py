"""Save the appliance's images in one file, for machines that cannot reach a registry (`make
images-save`).
"""

import argparse
import subprocess
import sys
from pathlib import Path

from runtime.compose import appliance, engine
from runtime.compose import settings as compose_settings
from runtime.compose.engine import EngineError
from runtime.compose.settings import Project
from runtime.settings import SettingsError, load
from runtime.state import State

NAME = "doorbuster-images.tar"
_OPTIONAL = ("GRAFANA_IMAGE", compose_settings.JAEGER_IMAGE)
"""The images that the appliance does not need."""
_UP_FIRST = "fix: make up RUNTIME=docker, which fetches and builds the missing images"


def tags(project: Project) -> dict[str, str]:
    """Return the images to save, and their tags in the archive, which keeps no digests. Raises
    EngineError if a necessary image is missing or outdated."""
    found = {}
    for variable, pinned in compose_settings.images().items():
        tagged = compose_settings.without_digest(pinned)
        there = next((name for name in (pinned, tagged) if engine.image_id(name)), None)
        if there:
            found[there] = tagged
        elif variable not in _OPTIONAL and (
            project.settings.monitoring or not variable.startswith("PROMETHEUS")
        ):
            raise EngineError(f"the image {pinned} is not on this machine; {_UP_FIRST}")
    version = appliance.code_version()
    if not (project.state.stamped("image", version) and engine.image_id(project.image)):
        raise EngineError(f"the appliance's image was not built from this code; {_UP_FIRST}")
    return {**found, project.image: appliance.kept_image(project, version)}


def save(project: Project, file: Path) -> None:
    """Write the archive. Raises EngineError if an image is missing or cannot be saved."""
    engine.check()
    images = tags(project)
    for image, tag in images.items():
        if image != tag:
            engine.tag(image, tag)
    file.parent.mkdir(parents=True, exist_ok=True)
    if why := engine.save(images.values(), file):
        raise EngineError(
            f"the archive {file} cannot be written ({why}); fix: free some space if the disk is "
            f"full"
        )


def main() -> int:
    parser = argparse.ArgumentParser(prog="make images-save", description=__doc__)
    parser.add_argument("file", nargs="?", type=Path, default=Path(NAME))
    file: Path = parser.parse_args().file
    try:
        settings = load()
        save(Project(settings, State(settings.state_dir)), file)
    except (EngineError, SettingsError, OSError, subprocess.SubprocessError) as error:
        print(f"make images-save: {error}", file=sys.stderr)
        return 1
    print(f"  {file}: {file.stat().st_size / 1e6:,.0f} MB")
    print("  On the other machine, in a clone of the same commit:")
    print(f"    docker load --input {file.name}; make up")
    return 0


if __name__ == "__main__":
    sys.exit(main())

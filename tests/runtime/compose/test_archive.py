"""The archive of images: what is in it, and how a machine without a registry uses it."""

from pathlib import Path

import pytest

from runtime.compose import appliance, archive
from runtime.compose import settings as compose_settings
from runtime.compose.engine import EngineError
from runtime.compose.settings import Project
from runtime.settings import REPOSITORY, load
from runtime.state import State
from tests.runtime.conftest import Docker

# An engine with the images in $IMAGES, one a line; `tag` adds one, `save` writes what it was given.
ENGINE = """
case "$1" in
  version) echo 28.0.0 ;;
  compose) echo v2.40.3 ;;
  image) grep -qxF "$5" "$IMAGES" && echo sha256:1 ;;
  tag) echo "$3" >> "$IMAGES" ;;
  save) shift 2; file=$1; shift; printf '%s\\n' "$@" > "$file" ;;
esac
"""


@pytest.fixture
def project(tmp_path: Path, docker: Docker) -> Project:
    """Return a project whose image is built from this code."""
    docker.answers(ENGINE)
    docker.setenv("IMAGES", str(tmp_path / "images"))
    given = {
        "DOORBUSTER_STATE_DIR": str(tmp_path / "state"),
        "DOORBUSTER_RESULTS_DIR": str(tmp_path / "results"),
    }
    made = Project(load(given, REPOSITORY), State(tmp_path / "state"))
    made.state.make()
    made.state.write_stamp("image", appliance.code_version())
    return made


def there(tmp_path: Path, *names: str) -> None:
    (tmp_path / "images").write_text("".join(f"{name}\n" for name in names))


def test_an_archive_has_every_image_by_its_tag(project: Project, tmp_path: Path) -> None:
    """The engine keeps no digests in an archive; Grafana's image may be missing."""
    pinned = compose_settings.images()
    pinned.pop("GRAFANA_IMAGE")
    there(tmp_path, *pinned.values(), project.image)
    archive.save(project, tmp_path / "images.tar")
    kept = (tmp_path / "images.tar").read_text().split()
    own = appliance.kept_image(project, appliance.code_version())
    assert kept == [*map(compose_settings.without_digest, pinned.values()), own]
    assert set(kept) <= set((tmp_path / "images").read_text().split())


def test_an_image_that_is_missing_or_outdated_is_named(project: Project, tmp_path: Path) -> None:
    pinned = compose_settings.images()
    there(tmp_path, *pinned.values())
    with pytest.raises(
        EngineError, match="was not built from this code; fix: make up RUNTIME=docker"
    ):
        archive.save(project, tmp_path / "images.tar")
    there(tmp_path, project.image)
    with pytest.raises(EngineError, match=f"the image {pinned['PYTHON_IMAGE']} is not on this"):
        archive.save(project, tmp_path / "images.tar")
    assert not (tmp_path / "images.tar").exists()


def test_without_monitoring_only_its_images_may_be_missing(
    project: Project, tmp_path: Path
) -> None:
    pinned = compose_settings.images()
    names = [name for name in pinned if not name.startswith(("PROMETHEUS", "GRAFANA", "JAEGER"))]
    off = Project(project.settings.model_copy(update={"monitoring": False}), project.state)
    there(tmp_path, *(pinned[name] for name in names), off.image)
    assert set(archive.tags(off)) == {*(pinned[name] for name in names), off.image}
    there(tmp_path, off.image)
    with pytest.raises(EngineError, match=f"the image {pinned['PYTHON_IMAGE']} is not on this"):
        archive.tags(off)

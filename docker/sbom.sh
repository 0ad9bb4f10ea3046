#!/usr/bin/env bash
# Writes the images' contents to build/sbom (`make sbom`): libraries.cdx.json has the Python packages
# that uv.lock gives to the appliance's image, in CycloneDX 1.5; <image>.packages.txt has the Debian
# packages of each base image that is on this machine. Images of Prometheus, Grafana and the exporters
# are not based on Debian and have no such list.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."

readonly FOLDER=build/sbom

main() {
  mkdir -p "$FOLDER"
  libraries
  local name image
  while IFS='=' read -r name image; do
    case $name in PYTHON_IMAGE | POSTGRES_IMAGE | VALKEY_IMAGE) packages "$image" ;; esac
  done <docker/images.env
}

libraries() {
  # The groups and extras that docker/Dockerfile installs.
  env -u UV_DEFAULT_INDEX -u UV_INDEX_URL -u UV_INDEX -u UV_EXTRA_INDEX_URL \
    .venv/bin/uv export --frozen --offline --quiet --no-default-groups --extra appliance --extra native --extra oidc --extra telemetry \
    --format cyclonedx1.5 --preview-features sbom-export --output-file "$FOLDER/libraries.cdx.json" >/dev/null
  printf '  %s: %s packages\n' "$FOLDER/libraries.cdx.json" "$(grep -c '"purl"' "$FOLDER/libraries.cdx.json")"
}

packages() { # image
  local image=$1 tagged=${1%%@*} list
  list=$FOLDER/$(tr '/:' '--' <<<"$tagged").packages.txt
  docker image inspect "$image" >/dev/null 2>&1 || image=$tagged
  if ! docker image inspect "$image" >/dev/null 2>&1; then
    printf '  %s: skipped, because the image is not on this machine (make up RUNTIME=docker fetches it)\n' "$tagged"
    return
  fi
  # shellcheck disable=SC2016 # dpkg's own variables
  docker run --rm --network none --entrypoint dpkg-query "$image" --show \
    --showformat '${Package} ${Version} ${Architecture}\n' >"$list"
  printf '  %s: %s packages\n' "$list" "$(wc -l <"$list")"
}

main

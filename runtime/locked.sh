#!/usr/bin/env bash
# locked.sh UV OPTIONS…: `UV sync --locked OPTIONS…` into $UV_PROJECT_ENVIRONMENT, also with another
# package index (UV_DEFAULT_INDEX, UV_INDEX_URL or PIP_INDEX_URL).
#
# uv.lock names pypi.org for every library, so with another index, uv treats it as outdated. The same
# files are then requested from that index, by name, version and hash.
set -euo pipefail

main() {
  uv=$1
  shift
  index=${UV_DEFAULT_INDEX:-${UV_INDEX_URL:-${PIP_INDEX_URL:-}}}
  if [ -z "$index" ]; then exec "$uv" sync --locked "$@"; fi
  read_options "$@"
  as_locked lock --check --offline --quiet || {
    printf '%s\n' "uv.lock does not match pyproject.toml; fix: git checkout uv.lock, or uv lock" >&2
    exit 1
  }
  as_locked export --frozen --no-emit-project --no-header --quiet "${which[@]}" --output-file "$list"
  from_index venv --allow-existing --quiet "$UV_PROJECT_ENVIRONMENT"
  from_index pip install "${into[@]}" --require-hashes --requirement "$list"
  if $with_project; then from_index pip install "${into[@]}" --no-deps --reinstall --editable .; fi
}

read_options() {
  list=$(mktemp)
  trap 'rm -f "$list"' EXIT
  which=()
  into=(--python "$UV_PROJECT_ENVIRONMENT/bin/python")
  with_project=true
  while [ $# -gt 0 ]; do
    case $1 in
      --no-dev | --no-default-groups) which+=("$1") ;;
      --group | --extra) which+=("$1" "$2") && shift ;;
      --no-install-project) with_project=false ;;
      --quiet | --no-progress) into+=("$1") ;;
    esac
    shift
  done
}

as_locked() { env -u UV_DEFAULT_INDEX -u UV_INDEX_URL -u UV_INDEX -u UV_EXTRA_INDEX_URL "$uv" "$@"; }

from_index() { env -u UV_INDEX_URL UV_DEFAULT_INDEX="$index" "$uv" "$@"; }

main "$@"

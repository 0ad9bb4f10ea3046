#!/usr/bin/env bash
# Creates the virtual environment .venv with the versions in uv.lock. The function main lists the steps.
# All further work is done in Python: `.venv/bin/doorbuster`.
#
#   PYTHON=python3.12   which Python to use (3.11 to 3.14)
#   RUNTIME=native      how to run the appliance: native or docker; by default, docker if available
set -euo pipefail

readonly UV_VERSION=0.13.8
readonly ENVIRONMENT=.venv
readonly STAMP=$ENVIRONMENT/.as-locked

main() {
  cd "$(dirname "${BASH_SOURCE[0]}")/.."
  check_runtime
  if environment_is_as_locked; then return; fi
  wait_for_other_bootstraps
  find_python
  make_environment
  install_uv
  install_dependencies
}

say() { printf '  %s\n' "$*"; }

fail() {
  printf '\n%s\n' "$@" >&2
  exit 1
}

check_runtime() {
  case "${RUNTIME:-}" in
    '' | native | docker) ;;
    *) fail "RUNTIME=$RUNTIME is unknown; allowed: native and docker" ;;
  esac
}

# A repeated start only compares a checksum and tests that Python runs.
environment_is_as_locked() {
  [ -f "$STAMP" ] && [ "$(cat "$STAMP")" = "$(locked_version)" ] && has_the_chosen_python
}

locked_version() {
  { pwd -P; cat uv.lock pyproject.toml runtime/bootstrap.sh runtime/locked.sh; } | sha256sum
}

has_the_chosen_python() {
  local version='import sys; print(sys.version_info[:2])' ours
  ours=$("$ENVIRONMENT/bin/python" -c "$version" 2>/dev/null) || return 1
  [ -z "${PYTHON:-}" ] || [ "$("$PYTHON" -c "$version" 2>/dev/null)" = "$ours" ]
}

wait_for_other_bootstraps() {
  command -v flock >/dev/null || return 0
  # Other users cannot open the lock file. They could lock a readable file for ever.
  (umask 077 && : >> "$ENVIRONMENT.lock") 2> /dev/null || return 0
  exec 9>> "$ENVIRONMENT.lock"
  local code=0
  flock --nonblock --conflict-exit-code 75 9 2> /dev/null || code=$?
  # Any other status means that the file system has no locks (as on some NFS): two calls then run at the
  # same time.
  if [ "$code" = 75 ]; then
    say "waiting for another make in this folder …"
    flock 9
  fi
}

find_python() {
  local candidate
  if [ -n "${PYTHON:-}" ]; then
    command -v "$PYTHON" >/dev/null || fail "PYTHON=$PYTHON: there is no such program"
    is_supported "$PYTHON" ||
      fail "PYTHON=$PYTHON is $("$PYTHON" --version 2>&1); Doorbuster needs Python 3.11 to 3.14"
    return
  fi
  for candidate in python3 python3.13 python3.12 python3.11 python3.14; do
    if is_supported "$candidate"; then
      PYTHON=$candidate
      return
    fi
  done
  fail "Doorbuster needs Python 3.11 to 3.14; found: $(python3 --version 2>&1 || true)" \
    "fix: $(as_root) apt-get install python3.11 python3.11-venv" \
    "      or name another one: make up PYTHON=/path/to/python3.12"
}

is_supported() {
  command -v "$1" >/dev/null 2>&1 &&
    "$1" -c 'import sys; sys.exit(not (3, 11) <= sys.version_info < (3, 15))' >/dev/null 2>&1
}

as_root() { if [ "$(id -u)" != 0 ]; then echo sudo; fi; }

make_environment() {
  local version
  version=$("$PYTHON" -c 'import sys; print("%d.%d" % sys.version_info[:2])')
  if belongs_here && has_the_chosen_python && is_supported "$ENVIRONMENT/bin/python"; then return; fi
  # A fresh Debian or Ubuntu has venv without ensurepip, and venv's message is long.
  "$PYTHON" -c 'import venv; from ensurepip import bootstrap' 2>/dev/null ||
    fail "$PYTHON ($version) cannot make virtual environments: the package python$version-venv is missing" \
      "fix: $(as_root) apt-get install python$version-venv   (or python3-venv)"
  say "virtual environment: $ENVIRONMENT (Python $version)"
  "$PYTHON" -m venv --clear "$ENVIRONMENT" || {
    rm -rf "$ENVIRONMENT"
    fail "the virtual environment could not be created in $PWD/$ENVIRONMENT" \
      "fix: see the message above; is the disk full, or does the folder belong to another user?"
  }
}

# An environment that was moved or copied still points to its first place.
belongs_here() {
  local programs
  programs=$("$ENVIRONMENT/bin/python" -c 'import sysconfig; print(sysconfig.get_path("scripts"))' 2>/dev/null) &&
    [ "$programs" = "$PWD/$ENVIRONMENT/bin" ]
}

install_uv() {
  if [ "$("$ENVIRONMENT/bin/uv" --version 2>/dev/null | cut -d' ' -f2)" = "$UV_VERSION" ]; then return; fi
  say "uv $UV_VERSION"
  "$ENVIRONMENT/bin/python" -m pip --version >/dev/null 2>&1 ||
    "$ENVIRONMENT/bin/python" -m ensurepip --default-pip >/dev/null
  "$ENVIRONMENT/bin/python" -m pip install --quiet --disable-pip-version-check "uv==$UV_VERSION" ||
    fail "uv could not be installed from the package index" \
      "fix: is there a network? Proxies and mirrors are read from the environment (PIP_INDEX_URL, HTTPS_PROXY)"
}

install_dependencies() {
  say "dependencies from uv.lock (a few hundred MB the first time)"
  # uv must use this environment and this Python, and trust the system's certificates, as pip does, so
  # that local proxies work.
  local trust=()
  if [ -n "${PIP_CERT:-}" ]; then trust=(SSL_CERT_FILE="${SSL_CERT_FILE:-$PIP_CERT}"); fi
  if [ -e /etc/ssl/certs/ca-certificates.crt ]; then trust+=(UV_SYSTEM_CERTS="${UV_SYSTEM_CERTS:-true}"); fi
  local quiet=()
  if [ ! -t 2 ]; then quiet=(--quiet); fi
  env -u VIRTUAL_ENV "${trust[@]}" \
    UV_PROJECT_ENVIRONMENT="$PWD/$ENVIRONMENT" UV_PYTHON="$PWD/$ENVIRONMENT/bin/python" \
    UV_PYTHON_DOWNLOADS=never \
    runtime/locked.sh "$ENVIRONMENT/bin/uv" --inexact --extra appliance --extra native "${quiet[@]}" --reinstall-package doorbuster ||
    fail "the dependencies could not be installed" \
      "fix: see the message above; the same command repeats a failed download"
  # If this fails, only the playground is missing, and its page explains the fix.
  "$ENVIRONMENT/bin/python" lab/playground/pyodide.py >/dev/null || true
  locked_version >"$STAMP"
}

main "$@"

#!/usr/bin/env bash
# Checks the containers' files, without starting a container, and all shell scripts (`make check`). A
# check whose tool is missing is skipped with a message.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."
PATH="$PWD/.venv/bin:$PATH"

main() {
  nothing_latest
  nobody_is_root
  no_secret_in_a_layer
  compose_file_is_valid
  dockerfile_is_clean
  scripts_are_clean
}

fail() {
  printf 'docker/check.sh: %s\n' "$*" >&2
  exit 1
}

nothing_latest() {
  local name
  while IFS='=' read -r name image; do
    case $name in '' | '#'*) continue ;; esac
    [[ $image =~ :v?[0-9]+\.[0-9]+ && $image != *:latest* ]] ||
      fail "docker/images.env: $name=$image is not pinned to a version"
    [[ $image != *@* || $image =~ @sha256:[0-9a-f]{64}$ ]] || fail "docker/images.env: $name=$image has a broken digest"
  done <docker/images.env
  if grep -nE '^FROM ' docker/Dockerfile | grep -vE 'FROM (\$\{PYTHON_IMAGE\}|dependencies|project) AS '; then
    fail "docker/Dockerfile: a stage is from an image that docker/images.env does not name"
  fi
  if grep -nE '^ +image: ' docker-compose.yml | grep -vE '\$\{[A-Z_]+_IMAGE(:[?-][^}]*)?\}'; then
    fail "docker-compose.yml: an image is not from docker/images.env"
  fi
}

nobody_is_root() {
  # The user must be a number other than 0, so that the engine can check it.
  # shellcheck disable=SC2016
  { [ "$(grep -E '^USER ' docker/Dockerfile | tail -1)" = 'USER ${APPLIANCE_UID}:${APPLIANCE_GID}' ] &&
    [ "$(grep -cE '^ARG APPLIANCE_[UG]ID=[1-9][0-9]*$' docker/Dockerfile)" = 2 ]; } ||
    fail "docker/Dockerfile: the final stage does not end as an ordinary user"
  if grep -nE 'privileged: *true|user: *"?(root|0)|/docker\.sock|network_mode: *host|cap_add' docker-compose.yml; then
    fail "docker-compose.yml: a container has more rights than it needs"
  fi
}

no_secret_in_a_layer() {
  if grep -nEi '^(ARG|ENV) .*(password|secret|token|index_url)' docker/Dockerfile; then
    fail "docker/Dockerfile: a secret as an argument or variable stays in the image; use --mount=type=secret"
  fi
  # An optional secret may be empty (`:-}`).
  if grep -nE '(PASSWORD|PASS|SECRET)[A-Z_]*: *' docker-compose.yml | grep -vE ':(\?[^}]+|-)\}'; then
    fail "docker-compose.yml: a password has a default"
  fi
}

compose_file_is_valid() {
  if ! docker compose version >/dev/null 2>&1; then
    echo "docker/check.sh: skipped docker compose config (Docker Compose is missing)"
    return
  fi
  DOORBUSTER_POSTGRES_PASSWORD=x DOORBUSTER_RESULTS_PASSWORD=x DOORBUSTER_GRAFANA_ADMIN_PASSWORD=x DOORBUSTER_REDIS_PASSWORD=x \
    DOORBUSTER_SECRET_KEY=x DOORBUSTER_GATEWAY_COOKIE_KEY=x \
    docker compose --file docker-compose.yml --env-file docker/images.env --profile '*' config --quiet
}

dockerfile_is_clean() {
  if command -v hadolint >/dev/null; then
    hadolint docker/Dockerfile
  else
    echo "docker/check.sh: skipped hadolint (no package for this processor)"
  fi
}

scripts_are_clean() {
  if command -v shellcheck >/dev/null; then
    shellcheck .ci/run .ci/tools ansible/*.sh docker/*.sh docker/offline/*.sh runtime/*.sh tests/ansible/*.sh
  else
    echo "docker/check.sh: skipped shellcheck (no package for this processor; apt-get install shellcheck)"
  fi
}

main

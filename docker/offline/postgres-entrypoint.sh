#!/usr/bin/env bash
# The entry point of the substitute for the PostgreSQL image, with the official image's variables that
# the lab uses: POSTGRES_USER, POSTGRES_PASSWORD, POSTGRES_DB, POSTGRES_INITDB_ARGS,
# POSTGRES_HOST_AUTH_METHOD, PGDATA.
set -euo pipefail

main() {
  if [ "$1" = postgres ] && [ ! -s "$PGDATA/PG_VERSION" ]; then
    make_cluster
    make_database
  fi
  exec "$@"
}

make_cluster() {
  local password
  password=$(mktemp)
  printf '%s\n' "${POSTGRES_PASSWORD:?the cluster needs a password}" >"$password"
  # shellcheck disable=SC2086 # several options in one variable, as the official image has it
  initdb --pgdata="$PGDATA" --username="$user" --pwfile="$password" ${POSTGRES_INITDB_ARGS:-}
  rm "$password"
  printf 'host all all all %s\n' "${POSTGRES_HOST_AUTH_METHOD:-scram-sha-256}" >>"$PGDATA/pg_hba.conf"
  printf "listen_addresses = '*'\n" >>"$PGDATA/postgresql.conf"
}

make_database() {
  local name=${POSTGRES_DB:-$user}
  if [ "$name" != postgres ]; then
    postgres --single -D "$PGDATA" postgres <<<"CREATE DATABASE \"$name\";" >/dev/null
  fi
}

user=${POSTGRES_USER:-postgres}
main "$@"

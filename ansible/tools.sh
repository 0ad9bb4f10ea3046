#!/usr/bin/env bash
# Installs Ansible from uv.lock into the repository's existing environment (runtime/bootstrap.sh).
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."
export UV_PROJECT_ENVIRONMENT="$PWD/.venv" UV_PYTHON="$PWD/.venv/bin/python" UV_PYTHON_DOWNLOADS=never
if [ -n "${PIP_CERT:-}" ]; then export SSL_CERT_FILE="${SSL_CERT_FILE:-$PIP_CERT}"; fi
if [ -e /etc/ssl/certs/ca-certificates.crt ]; then export UV_SYSTEM_CERTS="${UV_SYSTEM_CERTS:-true}"; fi
if ! env -u VIRTUAL_ENV runtime/locked.sh .venv/bin/uv --inexact --quiet --extra appliance --group ansible; then
  printf '\n%s\n' "Ansible could not be installed; fix: see the message above; is there a network?" >&2
  exit 1
fi

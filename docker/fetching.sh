#!/usr/bin/env bash
# fetching COMMAND…: runs it with the given package index and certificate authorities, which are secrets
# of the build and leave nothing in a layer. Proxies are build arguments, which BuildKit also keeps out
# of layers.
set -euo pipefail

index=/run/secrets/package_index authorities=/run/secrets/authorities
if [ -s "$index" ]; then
  set -a
  # shellcheck source=/dev/null
  . "$index"
  set +a
fi
if [ -s "$authorities" ]; then
  export SSL_CERT_FILE=$authorities PIP_CERT=$authorities
fi
exec "$@"

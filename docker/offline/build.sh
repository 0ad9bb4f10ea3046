#!/usr/bin/env bash
# Substitutes for the base images, for labs that reach a mirror of Debian but no registry. They are made
# from the distribution's packages, in its versions, with the names and tags of docker/images.env and
# without digests. Each has a label, so that a second call replaces it, but not an image from a
# registry.
#
#   SUITE=trixie MIRROR=http://deb.debian.org/debian    where the packages come from
#   docker/offline/build.sh POSTGRES_IMAGE …              only these
set -euo pipefail

here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
readonly here LABEL=org.doorbuster.stand-in
readonly IMAGES=(PYTHON_IMAGE POSTGRES_IMAGE VALKEY_IMAGE PROMETHEUS_IMAGE NODE_EXPORTER_IMAGE
  POSTGRES_EXPORTER_IMAGE REDIS_EXPORTER_IMAGE GRAFANA_IMAGE)

main() {
  # shellcheck source=/dev/null
  set -a && . "$here/../images.env" && set +a
  check_names "$@"
  check_tools
  work=$(mktemp -d "${TMPDIR:-/var/tmp}/doorbuster-images-XXXXXX")
  trap 'rm -rf --one-file-system "$work"' EXIT
  local wanted=("$@") name
  [ ${#wanted[@]} -gt 0 ] || wanted=("${IMAGES[@]}")
  for name in "${wanted[@]}"; do
    if is_the_real_one "${!name}"; then
      say "${!name}: was fetched from its registry and is kept"
    else
      printf -v "$name" %s "${!name%%@*}" # an imported image has no registry's digest
      "make_$name"
    fi
  done
}

say() { printf '  %s\n' "$*"; }

fail() {
  printf '\nmake images-offline: %s\n' "$*" >&2
  exit 1
}

check_names() {
  local name
  for name in "$@"; do
    [[ " ${IMAGES[*]} " == *" $name "* ]] || {
      printf 'make images-offline: ARGS: no image %s; allowed: %s\n' "$name" "${IMAGES[*]}" >&2
      exit 2
    }
  done
}

check_tools() {
  [ "$(id -u)" = 0 ] || fail "only root can create a root file system; fix: sudo make images-offline"
  command -v debootstrap >/dev/null || fail "debootstrap is missing; fix: apt-get install debootstrap"
  docker version >/dev/null 2>&1 || fail "the Docker engine does not answer; fix: systemctl start docker"
}

is_the_real_one() {
  local name
  for name in "$1" "${1%%@*}"; do # by its digest, or by its tag from an archive
    if docker image inspect "$name" >/dev/null 2>&1 &&
      [ -z "$(docker image inspect --format "{{index .Config.Labels \"$LABEL\"}}" "$name")" ]; then return; fi
  done
  return 1
}

# ---- the images ---------------------------------------------------------------------------------

make_PYTHON_IMAGE() {
  root_with python3 python3-venv ca-certificates
  ln -s /usr/bin/python3 "$root/usr/local/bin/python3"
  ln -s /usr/bin/python3 "$root/usr/local/bin/python"
  import "$PYTHON_IMAGE" 'CMD ["python3"]'
}

make_POSTGRES_IMAGE() {
  # The package would create a cluster, but the container creates one itself.
  before_packages() {
    mkdir -p "$root/etc/postgresql-common"
    echo 'create_main_cluster = false' >"$root/etc/postgresql-common/createcluster.conf"
    chroot "$root" groupadd --system --gid 999 postgres
    chroot "$root" useradd --system --uid 999 --gid 999 --home-dir /var/lib/postgresql postgres
  }
  root_with postgresql
  local bin
  bin=$(cd "$root" && echo usr/lib/postgresql/*/bin)
  install -m 755 "$here/postgres-entrypoint.sh" "$root/usr/local/bin/docker-entrypoint.sh"
  install -d -o 999 -g 999 -m 1777 "$root/var/lib/postgresql/data"
  install -d -o 999 -g 999 -m 3777 "$root/run/postgresql" # a tmpfs in its place gets its mode
  import "$POSTGRES_IMAGE" "ENV PATH=/$bin:/usr/local/bin:/usr/bin:/bin" \
    'ENV PGDATA=/var/lib/postgresql/data' 'ENTRYPOINT ["docker-entrypoint.sh"]' 'CMD ["postgres"]' \
    'VOLUME /var/lib/postgresql/data'
}

make_VALKEY_IMAGE() {
  if offers valkey-server; then
    root_with valkey-server valkey-tools
  else # Debian 12: Redis, under the names of Valkey's programs and user
    root_with redis-server redis-tools
    ln -s redis-server "$root/usr/bin/valkey-server"
    ln -s redis-cli "$root/usr/bin/valkey-cli"
    chroot "$root" useradd --system --no-create-home valkey
  fi
  install -d -o "$(uid_of valkey)" -m 755 "$root/data"
  import "$VALKEY_IMAGE" 'CMD ["valkey-server"]' 'VOLUME /data' 'WORKDIR /data'
}

make_PROMETHEUS_IMAGE() {
  root_with prometheus wget
  install -d -o 65534 -g 65534 -m 755 "$root/prometheus"
  import "$PROMETHEUS_IMAGE" 'ENTRYPOINT ["/bin/prometheus"]' 'USER nobody' 'VOLUME /prometheus' \
    'WORKDIR /prometheus'
}

make_NODE_EXPORTER_IMAGE() {
  exporter prometheus-node-exporter node_exporter "$NODE_EXPORTER_IMAGE"
}

make_POSTGRES_EXPORTER_IMAGE() {
  exporter prometheus-postgres-exporter postgres_exporter "$POSTGRES_EXPORTER_IMAGE"
}

make_REDIS_EXPORTER_IMAGE() {
  exporter prometheus-redis-exporter redis_exporter "$REDIS_EXPORTER_IMAGE"
}

make_GRAFANA_IMAGE() {
  say "$GRAFANA_IMAGE: skipped, because the distribution has no package of Grafana; make up skips it, too"
}

exporter() { # package program image
  root_with "$1" wget
  ln -sf "$1" "$root/usr/bin/$2"
  import "$3" "ENTRYPOINT [\"/bin/$2\"]" 'USER nobody'
}

# ---- how an image is made ----------------------------------------------------------------------------

# A root file system in $root with these packages.
root_with() {
  make_base
  root=$work/root
  rm -rf --one-file-system "$root"
  cp -a "$work/base" "$root"
  cp --remove-destination /etc/resolv.conf /etc/hosts "$root/etc/"
  if declare -F before_packages >/dev/null; then
    before_packages
    unset -f before_packages
  fi
  say "packages: $*"
  DEBIAN_FRONTEND=noninteractive LC_ALL=C chroot "$root" apt-get install --quiet=2 --yes \
    --no-install-recommends -o Dpkg::Options::=--force-confold \
    -o Dpkg::Options::=--force-unsafe-io "$@" >"$work/apt.log" 2>&1 ||
    fail "the packages cannot be installed: $(tail -3 "$work/apt.log")"
}

make_base() {
  if [ -d "$work/base" ]; then return; fi
  say "debootstrap $(suite) from $(mirror)"
  debootstrap --variant=minbase "$(suite)" "$work/base" "$(mirror)" >"$work/debootstrap.log" 2>&1 ||
    fail "debootstrap failed: $(tail -3 "$work/debootstrap.log"); fix: MIRROR= names another mirror"
  # Nothing is started while packages are installed.
  printf '#!/bin/sh\nexit 101\n' >"$work/base/usr/sbin/policy-rc.d"
  chmod 755 "$work/base/usr/sbin/policy-rc.d"
}

# Whether the distribution has the package.
offers() {
  make_base
  chroot "$work/base" apt-cache show "$1" >/dev/null 2>&1
}

import() { # image change…
  local image=$1 changes=() change
  shift
  for change in "LABEL $LABEL=$(suite)" 'ENV PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin' "$@"; do
    changes+=(--change "$change")
  done
  rm -rf "$root"/var/cache/apt/* "$root"/var/lib/apt/lists/* "$root"/usr/share/{doc,man,locale}/* \
    "$root"/var/log/* "$root"/usr/sbin/policy-rc.d "$root"/etc/resolv.conf "$root"/etc/hosts
  tar -C "$root" --numeric-owner --one-file-system -c . | docker import "${changes[@]}" - "$image" >/dev/null
  say "$image: a stand-in of $(du -sm --one-file-system "$root" | cut -f1) MB"
}

# shellcheck source=/dev/null
suite() { (. /etc/os-release && echo "${SUITE:-${VERSION_CODENAME:-bookworm}}"); }

mirror() {
  (
    # shellcheck source=/dev/null
    . /etc/os-release
    case $ID in
      ubuntu) echo "${MIRROR:-http://archive.ubuntu.com/ubuntu}" ;;
      *) echo "${MIRROR:-http://deb.debian.org/debian}" ;;
    esac
  )
}

uid_of() { awk -F: -v name="$1" '$1 == name { print $3 }' "$root/etc/passwd"; }

main "$@"

#!/usr/bin/env bash
# A system container's image: systemd, sshd and Python from Debian's packages, nothing of the lab. What the roles will
# install lies in apt's cache, so that no test waits for the mirror. As root, with debootstrap and a Docker engine.
#   image.sh NAME SUITE [PACKAGE …]   MIRROR=http://deb.debian.org/debian   RECIPE=what it is labelled with
set -euo pipefail
name=$1 suite=$2
shift 2
mirror=${MIRROR:-http://deb.debian.org/debian}
work=$(mktemp -d "${TMPDIR:-/var/tmp}/doorbuster-lab-host-XXXXXX")
trap 'rm -rf --one-file-system "$work"' EXIT
root=$work/root

quietly() { "$@" >"$work/log" 2>&1 || { tail -5 "$work/log" >&2; exit 1; }; }

quietly debootstrap --variant=minbase \
  --include=systemd,systemd-sysv,dbus,openssh-server,python3,python3-apt,ca-certificates,iproute2,procps,sudo,tzdata \
  "$suite" "$root" "$mirror"

# Whom this machine trusts, so that packages come through a proxy of the house, too.
if [ -n "${PIP_CERT:-}" ]; then cp "$PIP_CERT" "$root/etc/ssl/certs/ca-certificates.crt"; fi
printf '%s\n' "deb $mirror $suite main" "deb $mirror $suite-updates main" >"$root/etc/apt/sources.list"
cp --remove-destination /etc/resolv.conf /etc/hosts "$root/etc/"
rm -f "$root"/var/cache/apt/archives/*.deb
quietly chroot "$root" apt-get update --quiet=2
if [ $# -gt 0 ]; then
  quietly chroot "$root" apt-get install --quiet=2 --yes --no-install-recommends --download-only "$@"
fi
mkdir -p "$root/root/.ssh" && chmod 700 "$root/root/.ssh"
# What a container has not: consoles, devices, kernel modules.
for unit in getty.target systemd-logind.service systemd-udevd.service systemd-modules-load.service \
  sys-kernel-config.mount sys-kernel-debug.mount sys-kernel-tracing.mount dev-mqueue.mount dev-hugepages.mount; do
  ln -sf /dev/null "$root/etc/systemd/system/$unit"
done
rm -rf "$root"/etc/ssh/ssh_host_* "$root/etc/machine-id" "$root/etc/resolv.conf" "$root/etc/hosts"
touch "$root/etc/machine-id"
mkdir -p "$root/etc/systemd/system/ssh.service.d"
printf '[Service]\nExecStartPre=\nExecStartPre=/usr/bin/ssh-keygen -A\nExecStartPre=/usr/sbin/sshd -t\n' \
  >"$root/etc/systemd/system/ssh.service.d/keys.conf"
tar -C "$root" --numeric-owner --one-file-system -c . |
  docker import --change "LABEL recipe=${RECIPE:-}" --change 'ENV container=docker' --change 'CMD ["/lib/systemd/systemd"]' - "$name" >/dev/null

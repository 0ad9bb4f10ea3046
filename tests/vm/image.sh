#!/usr/bin/env bash
# A virtual machine's disk, kernel and initramfs from the distribution's packages alone: what a cloud's image has
# (systemd, netplan, cloud-init, sshd, sudo), nothing of the lab. As root, with debootstrap; nothing is mounted.
#   image.sh FOLDER SUITE [PACKAGE …]   MIRROR=http://deb.debian.org/debian   DISK=10G
# makes FOLDER/{disk.qcow2,vmlinuz,initrd.img}. The packages named after the suite lie in apt's cache only.
set -euo pipefail
made=$1 suite=$2
shift 2
mirror=${MIRROR:-http://deb.debian.org/debian}
mkdir -p "$made"
work=$(mktemp -d "$made/work-XXXXXX")
trap 'rm -rf --one-file-system "$work"' EXIT
root=$work/root

quietly() { "$@" >"$work/log" 2>&1 || { tail -15 "$work/log" >&2; exit 1; }; }
inside() { quietly chroot "$root" env DEBIAN_FRONTEND=noninteractive LC_ALL=C PATH=/usr/sbin:/usr/bin:/sbin:/bin "$@"; }

quietly debootstrap --variant=minbase \
  --include=systemd,systemd-sysv,dbus,udev,ca-certificates,iproute2,procps,sudo,tzdata,initramfs-tools \
  "$suite" "$root" "$mirror"

# Whom this machine trusts, so that packages come through a proxy of the house, too.
if [ -n "${PIP_CERT:-}" ]; then cp "$PIP_CERT" "$root/etc/ssl/certs/ca-certificates.crt"; fi
printf '%s\n' "deb $mirror $suite main" "deb $mirror $suite-updates main" >"$root/etc/apt/sources.list"
cp --remove-destination /etc/resolv.conf "$root/etc/"
printf '#!/bin/sh\nexit 101\n' >"$root/usr/sbin/policy-rc.d" && chmod +x "$root/usr/sbin/policy-rc.d"
echo LABEL=doorbuster / ext4 defaults 0 1 >"$root/etc/fstab"
inside apt-get update --quiet=2
inside apt-get install --quiet=2 --yes --no-install-recommends \
  linux-image-cloud-amd64 openssh-server libpam-systemd python3 python3-apt netplan.io cloud-init chrony
if [ $# -gt 0 ]; then
  inside apt-get install --quiet=2 --yes --no-install-recommends --download-only "$@"
fi
# The last, because it replaces the file that says who answers names.
inside apt-get install --quiet=2 --yes --no-install-recommends systemd-resolved
if [ -n "${PIP_CERT:-}" ]; then cp "$PIP_CERT" "$root/etc/ssl/certs/ca-certificates.crt"; fi
ln -sf ../run/systemd/resolve/stub-resolv.conf "$root/etc/resolv.conf"
# No time server is reached from a machine of a test: Chrony keeps the clock by itself.
echo 'local stratum 8' >"$root/etc/chrony/conf.d/here.conf"
printf 'datasource_list: [NoCloud]\nlocale: false\n' >"$root/etc/cloud/cloud.cfg.d/90_here.cfg"
rm -f "$root/usr/sbin/policy-rc.d" "$root"/etc/ssh/ssh_host_* "$root/etc/hostname"
truncate --size=0 "$root/etc/machine-id"

cp -L "$root/vmlinuz" "$root/initrd.img" "$made/"
quietly /usr/sbin/mkfs.ext4 -q -L doorbuster -d "$root" "$work/disk.raw" "${DISK:-10G}"
quietly qemu-img convert -O qcow2 "$work/disk.raw" "$work/disk.qcow2"
mv "$work/disk.qcow2" "$made/disk.qcow2"

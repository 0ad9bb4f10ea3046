#!/usr/bin/env bash
# Lint and syntax of the lab's playbooks, without the network: `make check` calls it. Left out, with a word, where
# the dependency group `ansible` is not installed (make lab-tools).
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")"
bin=../.venv/bin

if [ ! -x $bin/ansible-lint ]; then
  echo "ansible/check.sh: left out ansible-lint and syntax check (make lab-tools installs them)"
  exit 0
fi
# Its own folder for what Ansible keeps, so that nobody's ~/.ansible decides.
ANSIBLE_HOME=$(mktemp -d)
export ANSIBLE_HOME
trap 'rm -rf "$ANSIBLE_HOME"' EXIT
PATH="$(cd $bin && pwd):$PATH"
for inventory in inventories/*/hosts.yml; do
  said=$(ansible-playbook --inventory "$inventory" --syntax-check site.yml verify.yml reset.yml collect.yml vms.yml 2>&1) || {
    printf '%s\n' "ansible/check.sh: $inventory" "$said" >&2
    exit 1
  }
done
ansible-lint -q --offline --nocolor

#!/usr/bin/env bash
# Lint and syntax of the lab's playbooks, without the network: `make check` calls it. The check is
# skipped with a message if the dependency group `ansible` is not installed (make lab-tools), and
# silently if nothing has changed since the last successful check.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")"
bin=../.venv/bin

if [ ! -x $bin/ansible-lint ]; then
  echo "ansible/check.sh: skipped ansible-lint and syntax check (make lab-tools installs them)"
  exit 0
fi

# The checked files, and the tools that check them.
state() {
  find . ../.yamllint ../uv.lock -type f -not -path './secrets/*' -not -path './archives/*' -not -path './vms/*' \
    -not -name .good -print0 | sort -z | xargs -0 sha256sum | sha256sum
}
found=$(state)
if [ -e .good ] && [ "$(cat .good)" = "$found" ]; then exit 0; fi

# A separate folder for Ansible's files, so that ~/.ansible has no effect.
ANSIBLE_HOME=$(mktemp -d)
export ANSIBLE_HOME
trap 'rm -rf "$ANSIBLE_HOME"' EXIT
PATH="$(cd $bin && pwd):$PATH"
# ansible-lint's first rule is the syntax check of every playbook; hosts do not change it, so one
# inventory is enough.
ansible-lint -q --offline --nocolor
# Check the inventories, all in one process.
python - <<'END'
import sys
from pathlib import Path

from ansible.inventory.manager import InventoryManager
from ansible.parsing.dataloader import DataLoader
from ansible.vars.manager import VariableManager

for path in sorted(Path("inventories").glob("*/hosts.yml")):
    loader = DataLoader()
    inventory = InventoryManager(loader=loader, sources=[str(path)])
    variables = VariableManager(loader=loader, inventory=inventory)
    hosts = inventory.get_hosts("host")
    if not hosts or any("doorbuster_address" not in variables.get_vars(host=host) for host in hosts):
        sys.exit(f"ansible/check.sh: {path}: cannot be read, or a host has no doorbuster_address")
END
printf '%s\n' "$found" >.good

#!/usr/bin/env bash
# worker COMMAND…: the console's workers as a container's main process. When the workers end, their
# experiments need seconds to save their measurements. A container would be killed immediately, so this
# process waits for them.
set -uo pipefail

readonly PATIENCE_S=30

main() {
  "$@" &
  local worker=$! code
  trap 'kill -QUIT "$worker" 2>/dev/null' QUIT TERM INT
  while :; do
    wait "$worker"
    code=$?
    kill -0 "$worker" 2>/dev/null || break # otherwise, a signal to this process ended the wait
  done
  end_commands TERM
  while [ "$SECONDS" -lt "$PATIENCE_S" ] && [ -n "$(commands)" ]; do sleep 0.2; done
  exit "$code"
}

end_commands() {
  SECONDS=0
  local pid
  for pid in $(commands); do kill -s "$1" "$pid" 2>/dev/null; done
}

# The process ids of all experiments in this container.
commands() {
  local file
  grep -lsaE '(/bin/|-m.)doorbuste[r]' /proc/[0-9]*/cmdline | while read -r file; do
    file=${file#/proc/}
    echo "${file%/cmdline}"
  done
}

main "$@"

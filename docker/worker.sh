#!/usr/bin/env bash
# worker COMMAND…: the console's workers as a container's main process. Natively what they carry out is told
# to end when they end, and takes seconds to keep what it has measured; a container would be killed with
# everything in it at once. So this stays until those have ended.
set -uo pipefail

readonly PATIENCE_S=30

main() {
  "$@" &
  local worker=$! code
  trap 'kill -QUIT "$worker" 2>/dev/null' QUIT TERM INT
  while :; do
    wait "$worker"
    code=$?
    kill -0 "$worker" 2>/dev/null || break # else it was our own signal that ended the wait
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

# Process ids of experiments, whoever started them in this container.
commands() {
  local file
  grep -lsaE '(/bin/|-m.)doorbuste[r]' /proc/[0-9]*/cmdline | while read -r file; do
    file=${file#/proc/}
    echo "${file%/cmdline}"
  done
}

main "$@"

"""Check that a CPU manager really assigns processors: cpu_manager.py SOCKET

The script registers an application with one process and requests one processor. It then checks on
which CPUs the kernel lets the process run.
"""

import json
import os
import socket
import subprocess
import sys
import time

WITHIN_S = 60.0


def main(path):
    with subprocess.Popen(["sleep", "600"]) as process, socket.socket(socket.AF_UNIX) as manager:
        try:
            manager.settimeout(WITHIN_S)
            manager.connect(path)
            lines = manager.makefile("rw", encoding="utf-8")

            def say(message):
                print(json.dumps(message), file=lines, flush=True)

            application = {"application": "verify", "priority": 1, "process": process.pid}
            say({"register": {**application, "processors": None}})
            say({"request": 1})
            until_s = time.monotonic() + WITHIN_S
            while time.monotonic() < until_s:
                said = json.loads(lines.readline())
                if "error" in said:
                    sys.exit(f"the CPU manager refuses: {said}")
                allowed = sorted(os.sched_getaffinity(process.pid))
                if said.get("assigned") == 1 and said["processors"] == allowed:
                    print(f"1 processor assigned and in force: {said['processors']}")
                    return
            sys.exit(
                f"the CPU manager assigned no processor within {WITHIN_S:.0f} s: its last message "
                f"was {said}; the process may use the CPUs {allowed}"
            )
        finally:
            process.kill()


main(sys.argv[1])

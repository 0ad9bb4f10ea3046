"""Students' policies: files from outside the package, which run in a separate process.

A student's policy is named by its path (`own/quiet_door.py`). `files` reads it, and `purity` checks
it. `child`, `confinement` and `process` run it in a confined child process. Drivers use it through
`stand_in`, which continues as FIFO if the child fails. `naming` creates such a policy.
"""

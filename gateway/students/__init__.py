"""Policies of people who are learning: files from outside the package, run in a process apart.

A policy of their own is named by its path (`own/quiet_door.py`). It is read (`files`, `purity`),
run in a confined child process (`child`, `confinement`, `process`), and stood in for by a policy
that drivers take for any other (`stand_in`), which goes on as FIFO where the child fails.
`naming` makes one.
"""

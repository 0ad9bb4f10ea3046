"""Experiments: specs, runner, results, reports, and the command line over them.

Owns: everything from a spec file to a table beside the published one.
Must not know: Django. The gateway is reached over its admin API, the shop over its controller.
"""

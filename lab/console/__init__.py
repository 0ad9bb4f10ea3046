"""The lab console: launch an experiment, watch policies compete, take the figures away.

Owns: the web pages of the lab and the queue of launches. Must not know: how a run is made; it calls
the command `doorbuster` and reads result folders. A Django project of its own, with its own server
and its own database, so that it stays quick while the shop drowns.
"""

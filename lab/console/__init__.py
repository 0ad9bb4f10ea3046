"""The lab console: launch an experiment, watch policies compete, take the results away.

The console is a Django project with its own server and its own database, so that it stays quick
while the shop is overloaded.
"""

"""The lab console: launch an experiment, watch policies compete, take the results away.

The console is a Django project with a separate server and database, so it stays fast while the shop
is overloaded.
"""

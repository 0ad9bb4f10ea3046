"""The lab console, in which people launch experiments, watch policies compete and download results.

The console is a Django project with a separate server and database, so it stays fast while the shop
is overloaded.
"""

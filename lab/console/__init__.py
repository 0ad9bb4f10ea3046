"""The lab console, in which people launch experiments, watch policies compete and download results.

The console is a Django project. Its server and database are separate from the shop's, so the
console stays fast while the shop is overloaded.
"""

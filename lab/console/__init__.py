"""The lab console, in which people launch experiments, watch policies compete and download results.
This Django project has its own server and database, so it stays fast while the shop is
overloaded."""

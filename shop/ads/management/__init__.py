"""The management of contracts and publishers over HTTP."""

"""The hosting platform: processors, the manager that shares them out, applications on them."""

"""The hosting platform: processors, the manager that assigns them, applications on them."""

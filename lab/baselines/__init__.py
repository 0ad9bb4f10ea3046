"""HAProxy and nginx, which run in place of the gateway as baselines for comparisons."""

"""Real proxies in place of the gateway: HAProxy and nginx, as the distribution has them."""

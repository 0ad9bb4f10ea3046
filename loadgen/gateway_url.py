"""Where the customers go unless `--host` says otherwise.

Owns: the variables that say where the gateway is (docs/architecture.md, *Settings*), their
defaults. Must not know: whether anybody answers there.
"""

import os


def gateway_url() -> str:
    """Of the gateway's pages, without TLS."""
    host = os.environ.get("DOORBUSTER_GATEWAY_HOST") or "127.0.0.1"
    port = os.environ.get("DOORBUSTER_GATEWAY_PORT") or "8080"
    return f"http://[{host}]:{port}" if ":" in host else f"http://{host}:{port}"

"""Whether something answers by HTTP.

Owns: asking. Must not know: who is asked.
"""

import http.client

from runtime import hosts

PAGE_TIMEOUT_S = 10.0


def get_refusal(host: str, port: int, path: str) -> str | None:
    """Why `GET path` is not answered with 200; None when it is. Knows of no proxy."""
    url = f"http://{hosts.authority(host, port)}{path}"
    connection = http.client.HTTPConnection(host, port, timeout=PAGE_TIMEOUT_S)
    try:
        connection.request("GET", path, headers={"User-Agent": "doorbuster-health"})
        response = connection.getresponse()
        response.read()
    except (OSError, http.client.HTTPException) as error:
        return f"{url}: {error or type(error).__name__}"
    finally:
        connection.close()
    if response.status != 200:
        return f"{url} answered {response.status} {response.reason}"
    return None

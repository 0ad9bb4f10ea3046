"""The secrets of one appliance, generated at the first start and kept in the state folder."""

import json
import secrets
from dataclasses import asdict, dataclass, fields
from pathlib import Path

from common import private_file

FILE_NAME = "secrets.json"


@dataclass(frozen=True, slots=True)
class Credentials:
    """The secrets of the appliance, which are empty texts before the first start."""

    postgres_password: str = ""
    secret_key: str = ""
    gateway_cookie_key: str = ""
    results_password: str = ""
    grafana_admin_password: str = ""
    redis_password: str = ""
    inner_token: str = ""


VARIABLES = tuple(f"DOORBUSTER_{field.name.upper()}" for field in fields(Credentials))
"""The environment variable of each secret, which overrides the stored secret."""


def read(state_dir: Path) -> Credentials:
    """Return the secrets of this state folder. They are empty if the folder has no secrets or
    belongs to another user.

    Raises `ValueError` with the fix if the file is damaged.
    """
    path = state_dir / FILE_NAME
    try:
        return Credentials(**json.loads(path.read_text(encoding="utf-8")))
    except (FileNotFoundError, NotADirectoryError, PermissionError):
        return Credentials()
    except (ValueError, TypeError) as error:
        raise ValueError(
            f"{path} is damaged ({error}); fix: remove it, then empty the state with `make reset`"
        ) from error


def make(state_dir: Path) -> Credentials:
    """Return the secrets of this state folder. Missing secrets are generated, unless this user
    cannot read the file.
    """
    path = state_dir / FILE_NAME
    kept = read(state_dir)
    if path.exists() and not kept.secret_key:  # the file belongs to another user
        return kept
    sizes = {"secret_key": 50, "grafana_admin_password": 16}
    made = Credentials(
        **{
            name: text or secrets.token_urlsafe(sizes.get(name, 32))
            for name, text in asdict(kept).items()
        }
    )
    if made == kept:
        return kept
    private_file.write(path, json.dumps(asdict(made)).encode())
    return made

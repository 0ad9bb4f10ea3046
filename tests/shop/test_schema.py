"""A shop in a separate schema: the allowed names."""

import os

import pytest

from tests.programs import python


@pytest.mark.parametrize("name", ["Shop", "pg_shop", "ads", "shop", "information_schema", "a;drop"])
def test_a_name_that_no_schema_can_have_is_refused_in_a_line(name):
    done = python(
        "-m", "shop", "migrate-and-seed", env={**os.environ, "DOORBUSTER_SHOP_SCHEMA": name}
    )
    assert done.returncode == 1
    assert done.stderr.startswith(f"Error: DOORBUSTER_SHOP_SCHEMA={name}: must be up to 40")
    assert done.stderr.count("\n") == 1

"""The digest of the code that makes seeded data ignores prose."""

import importlib.util

import pytest

from shop.catalogue.digest import digest_of

CODE = '''"""A catalogue."""

# Why there are seven.
BOOKS = 7


def titles():
    """Return the titles."""
    return ["a # b"] * BOOKS
'''


@pytest.fixture
def digest(tmp_path):
    """Return a function that digests a module with this text."""

    def digest(text, **values):
        path = tmp_path / f"module_{abs(hash(text))}.py"
        path.write_text(text)
        spec = importlib.util.spec_from_file_location(path.stem, path)
        return digest_of(importlib.util.module_from_spec(spec), **values)

    return digest


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ('"""A catalogue."""', '"""A catalogue of\n\nbooks."""'),
        ('"""Return the titles."""', '"""Return all titles."""'),
        ("# Why there are seven.", "# Seven is enough."),
        ("\n\n\n", "\n"),
    ],
)
def test_prose_does_not_count(digest, old, new):
    """Rewritten docstrings and comments do not replace the shop's data."""
    assert old in CODE
    assert digest(CODE.replace(old, new)) == digest(CODE)


@pytest.mark.parametrize(("old", "new"), [("BOOKS = 7", "BOOKS = 8"), ("a # b", "a # c")])
def test_code_counts(digest, old, new):
    """Another number or text is other data."""
    assert digest(CODE.replace(old, new)) != digest(CODE)


def test_values_count(digest):
    """The same code makes other data from other values."""
    assert digest(CODE, values=(7,)) != digest(CODE, values=(8,))

"""The page type of each request."""

import pytest

from gateway.http import pages
from gateway.http.request_reader import METHODS
from gateway.policies.interface import Page

RULES = pages.load()


@pytest.mark.parametrize(
    ("method", "target", "page"),
    [
        (b"GET", b"/", Page.HOME),
        (b"GET", b"/?utm=1", Page.HOME),
        (b"GET", b"/browse/poetry/?page=2", Page.BROWSE),
        (b"GET", b"/search/?q=x", Page.SEARCH),
        (b"GET", b"/books/17/", Page.DETAILS),
        (b"POST", b"/checkout/login/", Page.LOGIN),
        (b"POST", b"/checkout/shipping/", Page.SHIPPING),
        (b"POST", b"/checkout/payment/", Page.PAYMENT),
        (b"POST", b"/checkout/confirm/", Page.CONFIRM),
        (b"GET", b"/checkout/confirm/", Page.CONFIRM),
        (b"GET", b"/%73earch/?q=x", Page.SEARCH),
        (b"GET", b"/static/shop.css", None),
        (b"GET", b"/books/17/cover.svg", None),
        (b"GET", b"/books/17/\n", None),
        (b"DELETE", b"/", None),
        (b"GET", b"//", None),
        (b"OPTIONS", b"*", None),
    ],
)
def test_the_shops_pages(method, target, page):
    assert RULES.page(method, target) is page
    assert RULES.page(method, target) is page  # also when remembered


def test_memory_is_bounded():
    rules = pages.load()
    for n in range(10_000):
        assert rules.page(b"GET", b"/books/%d/" % n) is Page.DETAILS
    assert len(rules.known) <= 4096


RULE = '[[rule]]\npage = "Br-1"\nmethods = ["GET"]\npath = "/"\n'


@pytest.mark.parametrize(
    ("text", "complaint"),
    [
        ("[[rule]\n", "must be valid TOML"),
        ("", "at least one [[rule]]"),
        ("rules = 1\n" + RULE, "unknown key 'rules'"),
        (RULE + '[[rule]]\npage = "Br-1"\npath = "/"\n', "rule 2: field 'methods' is missing"),
        (RULE.replace("Br-1", "Br-9"), "rule 1: page: is 'Br-9'; allowed: Br-1, Br-2"),
        (RULE.replace('["GET"]', '["get"]'), "rule 1: methods: is ['get']; must be a list"),
        (RULE.replace('["GET"]', '"GET"'), "rule 1: methods"),
        (RULE.replace('"/"', '"x"'), "rule 1: path: is 'x'; must be a regular expression"),
        (RULE.replace('"/"', '"/("'), "rule 1: path: is '/('; must be a regular expression: "),
        (RULE + "method = 1\n", "rule 1: unknown field 'method'; allowed: page, methods, path"),
        ("rule = [1]\n", "rule 1: must be a table"),
    ],
)
def test_complaints_name_file_rule_and_field(tmp_path, text, complaint):
    file = tmp_path / "rules.toml"
    file.write_text(text)
    with pytest.raises(pages.RulesError) as caught:
        pages.load(file)
    assert str(caught.value).startswith(str(file))
    assert complaint in str(caught.value)


def test_a_missing_file(tmp_path):
    with pytest.raises(pages.RulesError, match="cannot be read: No such file"):
        pages.load(tmp_path / "none.toml")


def test_every_method_may_be_named(tmp_path):
    file = tmp_path / "rules.toml"
    names = ", ".join(f'"{method.decode()}"' for method in METHODS)
    file.write_text(RULE.replace('"GET"', names))
    assert pages.load(file).page(b"PATCH", b"/") is Page.HOME

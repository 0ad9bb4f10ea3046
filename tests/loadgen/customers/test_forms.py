"""Reading forms off pages: the fields that a browser would send."""

from urllib.parse import parse_qs

import pytest

from loadgen.customers.forms import find_form

PAGE = b"""<!doctype html><html><body>
<form action="/search/"><input type="search" name="q"></form>
<form method="post" action="/checkout/payment/?step=2">
  <input type="hidden" name="csrfmiddlewaretoken" value="a&amp;b=c">
  <label>Street <input name="street" required></label>
  <input name="note" value="as it was">
  <input type="checkbox" name="gift"><input type="checkbox" name="terms" required value="yes">
  <input type="radio" name="speed" value="slow"><input type="radio" name="speed" value="fast">
  <input type="radio" name="paper" value="red">
  <input type="radio" name="paper" value="blue" checked>
  <select name="country"><option value="">Choose</option><option value="IN">India</option>
    <option value="FR">France</option></select>
  <select name="size"><option value="s">S</option><option value="m" selected>M</option></select>
  <textarea name="message">Dear &lt;you&gt;</textarea>
  <input name="off" value="1" disabled>
  <input type="file" name="scan"><input type="submit" name="go" value="Pay">
</form>
<form method="post" action="/checkout/payment/"><input name="second"></form>
</body></html>"""


def test_a_form_is_filled_in_as_a_person_would():
    form = find_form(PAGE, "/checkout/payment/")
    assert form is not None
    sent = parse_qs(form.filled({"street": "1 Long Lane", "csrfmiddlewaretoken": "forged"}))
    assert sent == {
        "csrfmiddlewaretoken": ["a&b=c"],
        "street": ["1 Long Lane"],
        "note": ["as it was"],
        "terms": ["yes"],
        "speed": ["slow"],
        "paper": ["blue"],
        "country": ["IN"],
        "size": ["m"],
        "message": ["Dear <you>"],
    }


def test_an_empty_required_field_gets_something():
    form = find_form(PAGE, "/checkout/payment/")
    assert form is not None
    assert parse_qs(form.filled({}))["street"] == ["1"]


@pytest.mark.parametrize(
    "page", [b"", b"<p>none</p>", b"<form><input name=x></form>", b"\xff<form"]
)
def test_a_page_without_the_form(page):
    assert find_form(page, "/checkout/payment/") is None

"""Every form refuses invalid values, and names the field."""

import uuid

import pytest

from shop.forms import AddressForm, CopiesForm, PaymentForm, SignUpForm
from shop.page_costs.walker import ADDRESS, PAYMENT

PAID = {**PAYMENT, "idempotency_key": str(uuid.uuid4())}


def test_the_walkers_forms_are_accepted():
    assert AddressForm(ADDRESS).is_valid()
    assert PaymentForm(PAID).is_valid()


@pytest.mark.parametrize("field", list(ADDRESS))
@pytest.mark.parametrize("value", ["", "x" * 200, "\x00"])
def test_address_names_the_field(field, value):
    form = AddressForm({**ADDRESS, field: value})
    assert not form.is_valid()
    assert list(form.errors) == [field]


def test_address_errors_are_in_the_order_of_the_page():
    assert list(AddressForm({}).errors) == [
        "full_name", "street", "postal_code", "city", "country"
    ]  # fmt: skip


@pytest.mark.parametrize("code", ["400 076", "SW1A 1AA", "1010", "12345-6789"])
def test_postal_codes_of_many_countries(code):
    assert AddressForm({**ADDRESS, "postal_code": code}).is_valid()


@pytest.mark.parametrize(
    ("field", "value", "says"),
    [
        ("card_number", "4111 1111 1111 1111", "test cards"),
        ("card_number", "", "required"),
        ("card_expiry", "13/39", "MM/YY"),
        ("card_expiry", "1/39", "MM/YY"),
        ("card_expiry", "01/20", "expired"),
        ("card_code", "12", "three or four"),
        ("card_code", "12a", "three or four"),
        ("card_name", "", "required"),
        ("idempotency_key", "", "order key"),
        ("idempotency_key", "not-a-key", "order key"),
    ],
)
def test_payment_names_the_field(field, value, says):
    form = PaymentForm({**PAID, field: value})
    assert not form.is_valid()
    assert list(form.errors) == [field]
    assert says in form.errors[field][0]


@pytest.mark.parametrize("quantity", ["-1", "21", "many", "", "1.5"])
def test_copies(quantity):
    form = CopiesForm({"book": "1", "quantity": quantity})
    assert not form.is_valid()
    assert "from 0 to 20" in form.errors["quantity"][0]


NEW = {
    "username": "ada-p",
    "full_name": "Ada Penrose",
    "email": "ada@example.org",
    "password": "lantern-street-3",
}


@pytest.mark.django_db
def test_sign_up_accepts():
    assert SignUpForm(NEW).is_valid()


@pytest.mark.django_db
@pytest.mark.parametrize(
    ("field", "value", "says"),
    [
        ("username", "customer-0001", "taken"),
        ("username", "Ada P", "lower-case letters"),
        ("username", "ab", "at least 3"),
        ("email", "nowhere", "valid email"),
        ("password", "short", "at least 8"),
        ("password", "92837465", "entirely numeric"),
        ("full_name", "", "required"),
    ],
)
def test_sign_up_names_the_field(field, value, says):
    form = SignUpForm({**NEW, field: value})
    assert not form.is_valid()
    assert list(form.errors) == [field]
    assert says in form.errors[field][0]

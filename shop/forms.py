"""The forms of the shop: fields, limits and messages."""

import re
from datetime import date
from typing import Any

from django import forms
from django.contrib.auth import password_validation
from django.core.exceptions import ValidationError
from django.core.validators import RegexValidator

from shop.cart import MAX_COPIES
from shop.models import COUNTRIES, Customer

TEST_CARDS = ("4242424242424242", "5555555555554444")
_VALID_USERNAME = RegexValidator(
    r"^[a-z0-9][a-z0-9_-]*\Z",
    "Use only lower-case letters, digits, hyphens and underscores. Begin with a letter or digit.",
)


def _text(label: str, max_length: int, autocomplete: str, **options: Any) -> forms.CharField:
    return forms.CharField(
        label=label,
        max_length=max_length,
        widget=forms.TextInput(attrs={"autocomplete": autocomplete}),
        **options,
    )


def _password(label: str, autocomplete: str) -> forms.CharField:
    return forms.CharField(
        label=label,
        max_length=128,
        strip=False,
        widget=forms.PasswordInput(attrs={"autocomplete": autocomplete}),
    )


class LoginForm(forms.Form):
    username = _text("User name", 40, "username")
    password = _password("Password", "current-password")


class SignUpForm(forms.Form):
    username = _text("User name", 40, "username", min_length=3, validators=[_VALID_USERNAME])
    full_name = _text("Full name", 80, "name")
    email = forms.EmailField(
        label="E-mail", widget=forms.EmailInput(attrs={"autocomplete": "email"})
    )
    password = _password("Password (at least 8 characters)", "new-password")

    def clean_username(self) -> str:
        username: str = self.cleaned_data["username"]
        if Customer.objects.filter(username=username).exists():
            raise ValidationError("This user name is taken. Choose another one.")
        return username

    def clean(self) -> dict[str, object]:
        cleaned: dict[str, object] = super().clean() or {}
        if "password" in cleaned:
            somebody = Customer(
                username=str(cleaned.get("username", "")), email=str(cleaned.get("email", ""))
            )
            try:
                password_validation.validate_password(str(cleaned["password"]), somebody)
            except ValidationError as error:
                self.add_error("password", error)
        return cleaned


class AddressForm(forms.Form):
    full_name = _text("Full name", 80, "name")
    street = _text("Street and number", 120, "street-address")
    postal_code = _text(
        "Postal code",
        12,
        "postal-code",
        validators=[
            RegexValidator(
                r"^[0-9A-Za-z][0-9A-Za-z -]{1,11}\Z",
                "This is not a postal code. Use 2 to 12 letters, digits, spaces or hyphens. Begin "
                "with a letter or digit.",
            )
        ],
    )
    city = _text("Town or city", 80, "address-level2")
    country = forms.ChoiceField(
        label="Country",
        choices=COUNTRIES,
        widget=forms.Select(attrs={"autocomplete": "country"}),
        error_messages={
            "invalid_choice": "We do not deliver to this country; choose a country from the list."
        },
    )


class PaymentForm(forms.Form):
    """The form for the payment (Tr-3), which is only simulated: nothing is charged or kept."""

    idempotency_key = forms.UUIDField(
        widget=forms.HiddenInput,
        error_messages={
            "required": "This form has no order key. Go back and send the previous form again.",
            "invalid": "The order key of this form is invalid. Go back and send the previous form "
            "again.",
        },
    )
    card_name = _text("Name on the card", 80, "cc-name")
    card_number = forms.CharField(
        label="Card number",
        max_length=23,
        help_text="Test cards only: 4242 4242 4242 4242",
        widget=forms.TextInput(attrs={"autocomplete": "cc-number", "inputmode": "numeric"}),
    )
    card_expiry = forms.CharField(
        label="Expires (MM/YY)",
        max_length=7,
        widget=forms.TextInput(attrs={"autocomplete": "cc-exp", "placeholder": "12/39"}),
    )
    card_code = forms.CharField(
        label="Security code",
        max_length=4,
        validators=[RegexValidator(r"^\d{3,4}\Z", "Enter the three or four digits of the code.")],
        widget=forms.TextInput(attrs={"autocomplete": "cc-csc", "inputmode": "numeric"}),
    )

    def clean_card_number(self) -> str:
        number = re.sub(r"[ -]", "", self.cleaned_data["card_number"])
        if number not in TEST_CARDS:
            raise ValidationError(
                "Only test cards are accepted here: 4242 4242 4242 4242 or 5555 5555 5555 4444."
            )
        return number

    def clean_card_expiry(self) -> str:
        expiry: str = self.cleaned_data["card_expiry"]
        match = re.fullmatch(r"(0[1-9]|1[0-2])/(\d{2})", expiry)
        if match is None:
            raise ValidationError("Enter the month and year as MM/YY, for example 12/39.")
        today = date.today()  # noqa: DTZ011 -- a card expires where its holder is
        if (2000 + int(match[2]), int(match[1])) < (today.year, today.month):
            raise ValidationError("This card has expired.")
        return expiry


class CopiesForm(forms.Form):
    """The form that sets the number of copies of a book in the cart."""

    book = forms.IntegerField(min_value=1, widget=forms.HiddenInput)
    quantity = forms.IntegerField(
        label="Copies",
        min_value=0,
        max_value=MAX_COPIES,
        error_messages={
            "min_value": "Choose a number from 0 to 20.",
            "max_value": "Choose a number from 0 to 20.",
            "invalid": "Enter a whole number from 0 to 20.",
            "required": "Enter a whole number from 0 to 20.",
        },
    )


class BuyForm(forms.Form):
    """The form with the button *Buy* (Br-4), which takes a book to the checkout."""

    book = forms.IntegerField(min_value=1, max_value=2**31 - 1, widget=forms.HiddenInput)


class SearchForm(forms.Form):
    q = forms.CharField(
        label="Search",
        required=False,
        max_length=100,
        error_messages={"max_length": "A search can have at most 100 characters."},
    )

"""The transaction pages: login (Tr-1), shipping (Tr-2), payment (Tr-3), confirm (Tr-4).

A `POST` to a step sends the form of the previous page, and the answer is the next page. A `GET`
shows this page again, or redirects to the first missing step. The buttons on a page send its form
with `?then=show`. The answer then redirects to the next page, so that a browser can reload it and
go back to it.

Every form carries its signed purchase (`shop.purchases`): the books, the key of the order, the
customer who got the page, and the address. The key does not change from *Buy* to Tr-4, so every
form may be sent again. A form orders the books on its page, whatever the customer does in other
browser tabs.

A customer who loses the session signs in and continues with the same purchase. If a customer did
not see the confirmation of an order, the shop finds the order by its key and does not place it
again. If stock, prices or books have changed, a page explains the change and the next step.

Therefore, the sentry may cancel every step when the customer leaves, but Tr-4 only until the order
is committed (`place_order`). No step leaves a half-written session, because one statement writes
each session.
"""

import re
import uuid
from collections.abc import Callable, Iterable
from dataclasses import replace
from functools import wraps
from typing import Any
from urllib.parse import urlencode

from django.contrib.auth import authenticate, login
from django.http import Http404, HttpRequest, HttpResponse, HttpResponseRedirect
from django.shortcuts import get_object_or_404, redirect, render
from django.urls import reverse
from django.views.decorators.debug import sensitive_post_parameters
from django.views.decorators.http import require_http_methods, require_safe

from shop import cart, purchases, sentry
from shop.banners import Slot
from shop.checkout import (
    AnotherTotal,
    NoLongerSold,
    NothingToOrder,
    OutOfStock,
    find_order,
    place_order,
)
from shop.forms import AddressForm, BuyForm, LoginForm, PaymentForm
from shop.models import Book, Category, Order
from shop.purchases import Purchase
from shop.views.accounts import customer_of
from shop.views.freshness import always_fresh

_KEY = "checkout"
_OF_CART = "checkout-of-cart"
_PLACED = "placed"
_MOST_PLACED = 20
_PURCHASE = "purchase"
_THEN, _SHOW = "then", "show"
_ORDER, _AGAIN = "order", "again"
_ORDER_ID = re.compile(r"[1-9][0-9]{0,9}")
UNPROCESSABLE = 422
CONFLICT = 409

SIGNED_OUT = (
    "You were signed out in the meantime. Sign in to go on: your order is not lost, "
    "and an order that was already placed is not placed again."
)
OTHER_ACCOUNT = (
    "Nothing was ordered, because you have signed in with a different account since you opened "
    "this form. Go on with this account, or sign out first."
)
ALREADY_PLACED = "This order was already placed, as shown here. Nothing was ordered again."
OLD_FORM = (
    "This form is more than a day old, or belongs to another shop. Nothing was ordered now. "
    "Look at your orders in your account; if this order is missing, begin again with Buy."
)
OTHER_ORDER = (
    "Nothing was ordered: this form does not belong to the order in your checkout. "
    "Begin again with Buy, or go on with the order in your checkout."
)


class _SeeOther(HttpResponseRedirect):
    """An answer that makes the browser request a page with `GET`."""

    status_code = 303


_step = require_http_methods(["GET", "HEAD", "POST"])
_View = Callable[[HttpRequest], HttpResponse]


def _reads_purchase(view: _View) -> _View:
    """Make the view answer with an explanation if a form's purchase is too old or not signed."""

    @wraps(view)
    def answered(request: HttpRequest) -> HttpResponse:
        try:
            return view(request)
        except purchases.Unreadable:
            return _refused(request, OLD_FORM, UNPROCESSABLE)

    return answered


@always_fresh
@require_safe
def resume(request: HttpRequest) -> HttpResponse:
    """Redirect to the next step of the purchase or, without a purchase, to the cart."""
    return redirect("checkout-payment")


@sentry.cancellable
@always_fresh
@_step
@_reads_purchase
def login_step(request: HttpRequest) -> HttpResponse:
    """Show Tr-1: start a purchase from *Buy* or the cart, and ask for user name and password."""
    purchase = _purchase(request)
    if request.method == "POST" and _PURCHASE not in request.POST:
        begun = _begun(request)
        if isinstance(begun, HttpResponse):
            return begun
        purchase = begun
    if purchase is None:
        return redirect("cart")
    _keep(request, purchase)
    return _login_page(request, purchase, LoginForm())


@sensitive_post_parameters("password")
@sentry.cancellable
@always_fresh
@_step
@_reads_purchase
def shipping_step(request: HttpRequest) -> HttpResponse:
    """Show Tr-2: log the customer in, and ask for the address."""
    purchase = _purchase(request)
    if purchase is None:
        return redirect("cart")
    if request.method == "POST" and "username" in request.POST:
        form = LoginForm(request.POST)
        if not form.is_valid():
            return _login_page(request, purchase, form, UNPROCESSABLE)
        customer = authenticate(request, **form.cleaned_data)
        if customer is None:
            form.add_error("password", "User name and password do not match.")
            return _login_page(request, purchase, form, UNPROCESSABLE)
        # If another customer was signed in, an empty session begins, without that customer's
        # address and cart. The present customer continues the purchase.
        login(request, customer)
    elif not request.user.is_authenticated:
        return _to_login(request, purchase)
    elif _is_anothers(request, purchase):
        return _login_page(request, purchase, LoginForm(), CONFLICT, OTHER_ACCOUNT)
    customer = customer_of(request)
    purchase = purchase.for_customer(customer.pk)
    _keep(request, purchase)
    address = dict(purchase.address or {"full_name": customer.full_name})
    return _shipping_page(request, purchase, AddressForm(initial=address))


@sentry.cancellable
@always_fresh
@_step
@_reads_purchase
def payment_step(request: HttpRequest) -> HttpResponse:
    """Show Tr-3: keep the address, and ask for the payment. The form has the idempotency key."""
    purchase = _purchase(request)
    if purchase is None:
        return redirect("cart")
    if not request.user.is_authenticated:
        return _to_login(request, purchase)
    placed = _known_to_be_placed(request, purchase)
    if placed is not None:
        return _confirm_page(request, placed, ALREADY_PLACED)
    if request.method == "POST":
        form = AddressForm(request.POST)
        if _is_anothers(request, purchase):
            typed = AddressForm(initial=request.POST.dict())
            return _shipping_page(request, purchase, typed, CONFLICT, OTHER_ACCOUNT)
        if not form.is_valid():
            return _shipping_page(request, purchase, form, UNPROCESSABLE)
        purchase = replace(purchase, customer=request.user.pk, address=form.cleaned_data)
        _keep(request, purchase)
    elif _is_anothers(request, purchase) or not purchase.address:
        return redirect(_address("checkout-shipping", purchase))
    return _payment_page(request, purchase, PaymentForm(initial={"idempotency_key": purchase.key}))


@sensitive_post_parameters("card_number", "card_code", "card_expiry")
@sentry.cancellable
@always_fresh
@_step
def confirm_step(request: HttpRequest) -> HttpResponse:
    """Show Tr-4: place the order, only once even if the form is sent again, and confirm it."""
    form = PaymentForm(request.POST)
    try:
        purchase = _purchase(request)
    except purchases.Unreadable:
        return _placed_or_refused(request, form, OLD_FORM, UNPROCESSABLE)
    if not request.user.is_authenticated:
        return _to_login(request, purchase)
    if request.method != "POST":
        return _last_confirmation(request)
    if not form.is_valid():
        if purchase is None or not purchase.address:
            return redirect("checkout-payment")
        return _payment_page(request, purchase, form, UNPROCESSABLE)
    if purchase is None or purchase.key != form.cleaned_data["idempotency_key"]:
        return _placed_or_refused(request, form, OTHER_ORDER, CONFLICT)
    if _is_anothers(request, purchase) or not purchase.address:
        placed = find_order(request.user, purchase.key)
        if placed is not None:
            return _confirm_page(request, placed, ALREADY_PLACED)
        if not purchase.address:
            return redirect("checkout-payment")
        empty = AddressForm(initial={"full_name": request.user.full_name})
        return _shipping_page(request, purchase, empty, CONFLICT, OTHER_ACCOUNT)
    return _order(request, purchase, form)


def _order(request: HttpRequest, purchase: Purchase, form: PaymentForm) -> HttpResponse:
    """Place the order and return its confirmation. If nothing was ordered, return the payment page
    with the reason and the next step.
    """
    assert purchase.address is not None
    try:
        order = place_order(
            customer_of(request),
            purchase.key,
            purchase.wanted,
            purchase.address,
            purchase.total_cents,
        )
    except OutOfStock as short:
        why = (
            f"Too few copies in stock: {short}. Nothing was ordered. "
            "Change the copies in your cart and go on from there, or choose another book."
        )
    except NoLongerSold as smaller:
        _keep_in_cart(request, purchase, smaller.gone)
        why = (
            f"No longer sold: {smaller}. Nothing was ordered. "
            f"The cart still has these books: {', '.join(smaller.left)}. Go on from there."
        )
    except AnotherTotal:
        why = (
            "Nothing was ordered, because a price has changed since you opened this form. "
            "This page shows the new total; place the order again if you agree."
        )
    except NothingToOrder:
        why = "None of these books is sold any longer. Nothing was ordered. Choose another book."
    else:
        _finish(request, order, purchase)
        is_as_sent = all(getattr(order, name) == text for name, text in purchase.address.items())
        return _confirm_page(request, order, "" if is_as_sent else ALREADY_PLACED)
    form.add_error(None, why)
    return _payment_page(request, purchase, form, CONFLICT)


def _begun(request: HttpRequest) -> Purchase | HttpResponse:
    """Return the purchase that this POST starts: one book (*Buy*), or the whole cart. If none can
    start, return the answer that explains this.

    If two tabs send the same cart, they share one purchase until the order is placed.
    """
    if "book" not in request.POST:
        wanted = cart.quantities(request.session)
        if not wanted:
            return redirect("cart")
        purchase = purchases.from_kept(request.session.get(_OF_CART, {}))
        if purchase is None or purchase.wanted != wanted:
            purchase = purchases.begun(wanted)
            request.session[_OF_CART] = purchase.kept()
        return purchase
    form = BuyForm(request.POST)
    if not form.is_valid():
        return _refused(
            request, "book: must be the id of a book, a whole number from 1.", UNPROCESSABLE
        )
    book = get_object_or_404(Book.objects.only("title", "stock"), pk=form.cleaned_data["book"])
    if book.stock < 1:
        return _refused(request, f"“{book.title}” is out of stock at the moment.", CONFLICT)
    return purchases.begun({book.pk: 1})


def _purchase(request: HttpRequest) -> Purchase | None:
    """Return the purchase in the form or the URL; without one, return the session's latest
    purchase, or None.

    Raises Unreadable if the purchase in the form or the URL is invalid.
    """
    kept = purchases.from_kept(request.session.get(_KEY, {}))
    carried = request.POST.get(_PURCHASE) or request.GET.get(_PURCHASE)
    return purchases.from_signed(carried).or_as_kept(kept) if carried else kept


def _keep(request: HttpRequest, purchase: Purchase) -> None:
    # Without the total, because it is unknown which page the customer will see next.
    kept = replace(purchase, total_cents=None).kept()
    if request.session.get(_KEY) != kept:
        request.session[_KEY] = kept


def _is_anothers(request: HttpRequest, purchase: Purchase) -> bool:
    return purchase.customer not in (None, request.user.pk)


def _to_login(request: HttpRequest, purchase: Purchase | None) -> HttpResponse:
    if purchase is None:
        return redirect("checkout-login")
    _keep(request, purchase)
    return redirect(_address("checkout-login", purchase))


def _address(step: str, purchase: Purchase) -> str:
    return f"{reverse(step)}?{urlencode({_PURCHASE: purchase.link()})}"


def _wants_to_be_led(request: HttpRequest) -> bool:
    return request.method == "POST" and request.GET.get(_THEN) == _SHOW


def _finish(request: HttpRequest, order: Order, purchase: Purchase) -> None:
    """Remove the purchase from the session; the first time, also remove its books from the cart."""
    placed = request.session.get(_PLACED, {})
    key = str(purchase.key)
    for name in (_KEY, _OF_CART):
        if request.session.get(name, {}).get("key") == key:
            del request.session[name]
    if key in placed:
        return
    cart.take_out(request.session, purchase.wanted)
    latest = list(placed.items())[1 - _MOST_PLACED :]
    request.session[_PLACED] = dict([*latest, (key, order.pk)])


def _keep_in_cart(request: HttpRequest, purchase: Purchase, gone: frozenset[int]) -> None:
    """Put the purchase's books into the cart, without the books in `gone`.

    The purchase does not change. If its form is sent again, the form is refused again, because the
    order would have fewer books than the page showed.
    """
    both = purchase.wanted | cart.quantities(request.session)
    cart.put(request.session, {id: copies for id, copies in both.items() if id not in gone})


def _known_to_be_placed(request: HttpRequest, purchase: Purchase) -> Order | None:
    return _own_order(request, request.session.get(_PLACED, {}).get(str(purchase.key)))


def _own_order(request: HttpRequest, id: int | None) -> Order | None:
    return Order.objects.filter(pk=id, customer=customer_of(request)).first() if id else None


def _placed_or_refused(
    request: HttpRequest, form: PaymentForm, why: str, status: int
) -> HttpResponse:
    """Return the confirmation if an order with this form's key exists, otherwise the refusal."""
    key: uuid.UUID | None = form.cleaned_data.get("idempotency_key") if form.is_valid() else None
    order = find_order(request.user, key) if key and request.user.is_authenticated else None
    return _refused(request, why, status) if order is None else _confirm_page(request, order)


def _last_confirmation(request: HttpRequest) -> HttpResponse:
    """Show the confirmation of the order in the URL. If the URL names no order, show the session's
    latest order.
    """
    if _ORDER in request.GET:
        asked = request.GET[_ORDER]
        order = _own_order(request, int(asked)) if _ORDER_ID.fullmatch(asked) else None
        if order is None:
            raise Http404
    else:
        latest = next(reversed(request.session.get(_PLACED, {}).values()), None)
        order = _own_order(request, latest)
    if order is None:
        return redirect("checkout-payment")
    return _confirm_page(request, order, ALREADY_PLACED if _AGAIN in request.GET else "")


def _login_page(
    request: HttpRequest,
    purchase: Purchase,
    form: LoginForm,
    status: int = 200,
    notice: str = "",
) -> HttpResponse:
    customer = request.user.pk
    if customer is not None:
        purchase = purchase.for_customer(customer)
    elif purchase.customer is not None:
        notice = SIGNED_OUT
    return _page(request, "login", purchase, form, status, notice)


def _shipping_page(
    request: HttpRequest,
    purchase: Purchase,
    form: AddressForm,
    status: int = 200,
    notice: str = "",
) -> HttpResponse:
    purchase = purchase.for_customer(customer_of(request).pk)
    return _page(request, "shipping", purchase, form, status, notice)


def _payment_page(
    request: HttpRequest, purchase: Purchase, form: PaymentForm, status: int = 200
) -> HttpResponse:
    return _page(request, "payment", purchase, form, status)


def _page(
    request: HttpRequest,
    step: str,
    purchase: Purchase,
    form: Any,
    status: int,
    notice: str = "",
) -> HttpResponse:
    if status == 200 and _wants_to_be_led(request):
        return _SeeOther(_address(f"checkout-{step}", purchase))
    lines = cart.lines(purchase.wanted)
    purchase = replace(purchase, total_cents=cart.total_cents(lines))
    shown = {
        "form": form,
        "lines": lines,
        "total": cart.total(lines),
        "slot": _slot(request, purchase.wanted),
        "notice": notice,
        "link": urlencode({_PURCHASE: purchase.link()}),
        _PURCHASE: purchase.signed(),
    }
    return render(request, f"shop/checkout_{step}.html", shown, status=status)


def _confirm_page(request: HttpRequest, order: Order, notice: str = "") -> HttpResponse:
    if _wants_to_be_led(request):
        found = {_ORDER: order.pk} | ({_AGAIN: 1} if notice else {})
        return _SeeOther(f"{reverse('checkout-confirm')}?{urlencode(found)}")
    lines = order.lines.select_related("book__author").only(
        "order_id", "quantity", "unit_price_cents", "book__title", "book__author__name"
    )
    shown = {
        "order": order,
        "lines": lines,
        "slot": _slot(request, (line.book_id for line in lines)),
        "notice": notice,
    }
    return render(request, "shop/checkout_confirm.html", shown)


def _slot(request: HttpRequest, books: Iterable[int]) -> Slot:
    return Slot(
        request,
        lambda: (
            Category.objects.filter(books__in=list(books)).distinct().values_list("slug", flat=True)
        ),
    )


def _refused(request: HttpRequest, message: str, status: int) -> HttpResponse:
    return render(request, "shop/refused.html", {"message": message}, status=status)

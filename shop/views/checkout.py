"""The transaction pages: login (Tr-1), shipping (Tr-2), payment (Tr-3), confirm (Tr-4).

Each step takes the form of the page before and shows the next one. What has been settled so far is
in the session under `checkout`: the books, the address, the idempotency key. `GET` shows the same
page again, or leads to the first step that is missing.

Every step may be sent again. A customer who gave up waiting for Tr-2 may have been logged in all
the same, which ends the anonymous session; and sessions live in Redis's memory, which may be lost.
So every form carries the purchase, signed: the books, and the key under which they are ordered from
*Buy* to Tr-4. A session that lacks it begins anew with it, at the login; and the order of somebody
who did not see it confirmed is found by its key, not placed a second time.

So every step may also be cancelled when its customer leaves, Tr-4 until its order is committed
(`place_order`). Sessions stay whole: each is written in one piece, by middleware or by `login`.
"""

import uuid
from collections.abc import Iterable
from typing import Any

from django.contrib.auth import authenticate, login
from django.core import signing
from django.http import HttpRequest, HttpResponse
from django.shortcuts import get_object_or_404, redirect, render
from django.views.decorators.cache import never_cache
from django.views.decorators.debug import sensitive_post_parameters
from django.views.decorators.http import require_http_methods

from shop import cart, sentry
from shop.banners import Slot
from shop.checkout import NoLongerSold, NothingToOrder, OutOfStock, find_order, place_order
from shop.forms import AddressForm, BuyForm, LoginForm, PaymentForm
from shop.models import Book, Category, Order

_KEY = "checkout"
_PURCHASE = "purchase"
_PURCHASE_SALT = "shop.checkout.purchase"
_PURCHASE_MAX_AGE_S = 24 * 3600
UNPROCESSABLE = 422
CONFLICT = 409

_step = require_http_methods(["GET", "HEAD", "POST"])


@sentry.cancellable
@never_cache
@_step
def login_step(request: HttpRequest) -> HttpResponse:
    """Tr-1: *Buy* or the cart brings the books here; asks who is buying."""
    if request.method == "POST":
        wanted = _wanted(request)
        if isinstance(wanted, HttpResponse):
            return wanted
        request.session[_KEY] = {
            "wanted": {str(id): copies for id, copies in wanted.items()},
            "key": str(uuid.uuid4()),
        }
    elif not _settled(request).get("wanted"):
        return redirect("cart")
    return _login_page(request, LoginForm())


@sensitive_post_parameters("password")
@sentry.cancellable
@never_cache
@_step
def shipping_step(request: HttpRequest) -> HttpResponse:
    """Tr-2: logs in, asks for the address."""
    if not _has_purchase(request):
        return redirect("cart")
    if request.method == "POST" and not (
        request.user.is_authenticated and "username" not in request.POST
    ):
        form = LoginForm(request.POST)
        if not form.is_valid():
            return _login_page(request, form, UNPROCESSABLE)
        customer = authenticate(request, **form.cleaned_data)
        if customer is None:
            form.add_error("password", "User name and password do not match.")
            return _login_page(request, form, UNPROCESSABLE)
        purchase = _purchase(_settled(request))
        login(request, customer)
        # Over another customer's session it begins an empty one. What is bought was sent by who
        # signs in now and goes on; the other's address and cart do not.
        request.session.setdefault(_KEY, purchase)
    if not request.user.is_authenticated:
        return redirect("checkout-login")
    address = _settled(request).get("address") or {"full_name": request.user.full_name}
    return _shipping_page(request, AddressForm(initial=address))


@sentry.cancellable
@never_cache
@_step
def payment_step(request: HttpRequest) -> HttpResponse:
    """Tr-3: keeps the address, asks for the payment under the purchase's idempotency key."""
    missing = _missing_step(request)
    if missing:
        return redirect(missing)
    settled = _settled(request)
    if request.method == "POST":
        form = AddressForm(request.POST)
        if not form.is_valid():
            return _shipping_page(request, form, UNPROCESSABLE)
        settled["address"] = form.cleaned_data
        request.session[_KEY] = settled
    elif "address" not in settled:
        return redirect("checkout-shipping")
    return _payment_page(request, PaymentForm(initial={"idempotency_key": settled["key"]}))


@sensitive_post_parameters("card_number", "card_code", "card_expiry")
@sentry.cancellable
@never_cache
@_step
def confirm_step(request: HttpRequest) -> HttpResponse:
    """Tr-4: places the order, exactly once however often it is sent, and confirms it."""
    if not request.user.is_authenticated:
        _has_purchase(request)
        return redirect("checkout-login")
    if request.method != "POST":
        return _last_confirmation(request)
    form = PaymentForm(request.POST)
    settled = _settled(request)
    if not form.is_valid():
        if _missing_step(request) or "address" not in settled:
            return redirect("checkout-payment")
        return _payment_page(request, form, UNPROCESSABLE)
    key: uuid.UUID = form.cleaned_data["idempotency_key"]
    if "address" not in settled or settled.get("key") != str(key):
        return _already_placed(request, key)
    try:
        order = place_order(request.user, key, _wanted_so_far(settled), settled["address"])
    except OutOfStock as short:
        form.add_error(None, f"No longer in stock: {short}. Nothing was ordered.")
        return _payment_page(request, form, CONFLICT)
    except NoLongerSold as smaller:
        _keep_in_cart(request, settled, smaller.gone)
        form.add_error(
            None,
            f"No longer sold: {smaller}. Nothing was ordered. "
            f"The cart has what remains, go on from there: {', '.join(smaller.left)}.",
        )
        return _payment_page(request, form, CONFLICT)
    except NothingToOrder:
        return redirect("cart")
    _finish(request, order, settled)
    return _confirm_page(request, order)


def _wanted(request: HttpRequest) -> cart.Quantities | HttpResponse:
    """The books that this POST wants to buy: one by *Buy*, or the whole cart."""
    if "book" not in request.POST:
        wanted = cart.quantities(request.session)
        return wanted or redirect("cart")
    form = BuyForm(request.POST)
    if not form.is_valid():
        return _refused(request, "book: must be the number of a book on sale.", UNPROCESSABLE)
    book = get_object_or_404(Book.objects.only("title", "stock"), pk=form.cleaned_data["book"])
    if book.stock < 1:
        return _refused(request, f"“{book.title}” is out of stock at the moment.", CONFLICT)
    return {book.pk: 1}


def _settled(request: HttpRequest) -> dict[str, Any]:
    settled: dict[str, Any] = request.session.get(_KEY, {})
    if settled.get("wanted") and "key" not in settled:  # begun by a shop that gave it later
        settled = request.session[_KEY] = {**settled, "key": str(uuid.uuid4())}
    return settled


def _purchase(settled: dict[str, Any]) -> dict[str, Any]:
    """What is bought and under which key, without whose it is."""
    return {part: settled[part] for part in ("wanted", "key")}


def _wanted_so_far(settled: dict[str, Any]) -> cart.Quantities:
    return {int(id): copies for id, copies in settled.get("wanted", {}).items()}


def _has_purchase(request: HttpRequest) -> bool:
    """Whether there is something to buy: in the session, or signed in the form, and now in both."""
    if _settled(request).get("wanted"):
        return True
    try:
        purchase = signing.loads(
            request.POST.get(_PURCHASE, ""), salt=_PURCHASE_SALT, max_age=_PURCHASE_MAX_AGE_S
        )
    except signing.BadSignature:
        return False
    request.session[_KEY] = purchase
    return True


def _missing_step(request: HttpRequest) -> str | None:
    """The first step that has to be done before the address counts.

    A form that comes late to somebody signed in, whose order is placed, begins nothing anew.
    """
    if not request.user.is_authenticated:
        return "checkout-login" if _has_purchase(request) else "cart"
    return None if _settled(request).get("wanted") else "cart"


def _finish(request: HttpRequest, order: Order, settled: dict[str, Any]) -> None:
    """Forget the checkout and take what was bought out of the cart."""
    bought = _wanted_so_far(settled)
    left = {id: n for id, n in cart.quantities(request.session).items() if id not in bought}
    cart.put(request.session, left)
    request.session[_KEY] = {"order": order.pk}


def _keep_in_cart(request: HttpRequest, settled: dict[str, Any], gone: frozenset[int]) -> None:
    """Put what remains of a purchase into the cart, which may have been lost since, without these.

    The purchase itself stays: the same form sent again is refused again, for it is an order of
    less than its customer has seen.
    """
    both = _wanted_so_far(settled) | cart.quantities(request.session)
    cart.put(request.session, {id: copies for id, copies in both.items() if id not in gone})


def _already_placed(request: HttpRequest, key: uuid.UUID) -> HttpResponse:
    """A form that is sent again after its order was placed: the same confirmation."""
    order = find_order(request.user, key)
    return redirect("checkout-payment") if order is None else _confirm_page(request, order)


def _last_confirmation(request: HttpRequest) -> HttpResponse:
    placed = _settled(request).get("order")
    order = Order.objects.filter(pk=placed, customer=request.user).first() if placed else None
    return redirect("checkout-payment") if order is None else _confirm_page(request, order)


def _login_page(request: HttpRequest, form: LoginForm, status: int = 200) -> HttpResponse:
    return _page(request, "shop/checkout_login.html", form, status)


def _shipping_page(request: HttpRequest, form: AddressForm, status: int = 200) -> HttpResponse:
    return _page(request, "shop/checkout_shipping.html", form, status)


def _payment_page(request: HttpRequest, form: PaymentForm, status: int = 200) -> HttpResponse:
    return _page(request, "shop/checkout_payment.html", form, status)


def _page(request: HttpRequest, template: str, form: Any, status: int) -> HttpResponse:
    settled = _settled(request)
    wanted = _wanted_so_far(settled)
    lines = cart.lines(wanted)
    shown = {
        "form": form,
        "lines": lines,
        "total": cart.total(lines),
        "slot": _slot(request, wanted),
        _PURCHASE: signing.dumps(_purchase(settled), salt=_PURCHASE_SALT),
    }
    return render(request, template, shown, status=status)


def _confirm_page(request: HttpRequest, order: Order) -> HttpResponse:
    lines = order.lines.select_related("book__author").only(
        "order_id", "quantity", "unit_price_cents", "book__title", "book__author__name"
    )
    slot = _slot(request, (line.book_id for line in lines))
    return render(
        request, "shop/checkout_confirm.html", {"order": order, "lines": lines, "slot": slot}
    )


def _slot(request: HttpRequest, books: Iterable[int]) -> Slot:
    """For a banner about the shelves of these books."""
    return Slot(
        request,
        lambda: (
            Category.objects.filter(books__in=list(books)).distinct().values_list("slug", flat=True)
        ),
    )


def _refused(request: HttpRequest, message: str, status: int) -> HttpResponse:
    return render(request, "shop/refused.html", {"message": message}, status=status)

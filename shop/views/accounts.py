"""The pages of customers' accounts: sign-up, sign-in, sign-out and orders."""

from django.contrib.auth import authenticate, login, logout
from django.contrib.auth.decorators import login_required
from django.db import IntegrityError, transaction
from django.http import HttpRequest, HttpResponse
from django.shortcuts import get_object_or_404, redirect, render
from django.utils.http import url_has_allowed_host_and_scheme
from django.views.decorators.debug import sensitive_post_parameters
from django.views.decorators.http import require_http_methods, require_POST, require_safe

from common import seeded_shop
from shop.forms import LoginForm, SignUpForm
from shop.models import Customer
from shop.views.freshness import always_fresh

_BACKEND = "django.contrib.auth.backends.ModelBackend"
_RECENT = 20
_SEEDED = {
    "first": seeded_shop.ACCOUNT_NAME % 1,
    "last": seeded_shop.ACCOUNT_NAME % seeded_shop.ACCOUNTS,
    "password": seeded_shop.PASSWORD,
}


def customer_of(request: HttpRequest) -> Customer:
    """Return the signed-in customer; the caller must check that a customer is signed in."""
    assert isinstance(request.user, Customer)
    return request.user


@sensitive_post_parameters("password")
@always_fresh
@require_http_methods(["GET", "HEAD", "POST"])
def sign_in(request: HttpRequest) -> HttpResponse:
    """Show the form for signing in; a POST signs the customer in and redirects to `next`."""
    form = LoginForm(request.POST if request.method == "POST" else None)
    if form.is_bound and form.is_valid():
        customer = authenticate(request, **form.cleaned_data)
        if customer is not None:
            login(request, customer)
            return redirect(_next(request))
        form.add_error("password", "User name and password do not match.")
    return render(
        request,
        "shop/sign_in.html",
        {"form": form, "next": _next(request), "seeded": _SEEDED},
        status=422 if form.is_bound else 200,
    )


@sensitive_post_parameters("password")
@always_fresh
@require_http_methods(["GET", "HEAD", "POST"])
def sign_up(request: HttpRequest) -> HttpResponse:
    """Show the form for a new account; a POST creates it, signs the customer in and redirects to
    `next`.
    """
    form = SignUpForm(request.POST if request.method == "POST" else None)
    if form.is_bound and form.is_valid():
        try:
            with transaction.atomic():
                customer = Customer.objects.create_user(**form.cleaned_data)
        except IntegrityError:
            form.add_error("username", "This user name is taken. Choose another one.")
        else:
            login(request, customer, backend=_BACKEND)
            return redirect(_next(request))
    return render(
        request,
        "shop/sign_up.html",
        {"form": form, "next": _next(request)},
        status=422 if form.is_bound else 200,
    )


@require_POST
def sign_out(request: HttpRequest) -> HttpResponse:
    logout(request)
    return redirect("home")


@always_fresh
@login_required
@require_safe
def account(request: HttpRequest) -> HttpResponse:
    orders = customer_of(request).orders.prefetch_related("lines__book")[:_RECENT]
    return render(request, "shop/account.html", {"orders": orders})


@always_fresh
@login_required
@require_safe
def order(request: HttpRequest, order_id: int) -> HttpResponse:
    placed = get_object_or_404(customer_of(request).orders, pk=order_id)
    lines = placed.lines.select_related("book__author")
    return render(request, "shop/order.html", {"order": placed, "lines": lines})


def _next(request: HttpRequest) -> str:
    wanted = request.POST.get("next") or request.GET.get("next") or ""
    safe = url_has_allowed_host_and_scheme(
        wanted, allowed_hosts={request.get_host()}, require_https=request.is_secure()
    )
    return wanted if safe else "/account/"

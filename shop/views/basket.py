"""The cart page."""

from django.http import HttpRequest, HttpResponse
from django.shortcuts import get_object_or_404, redirect, render
from django.views.decorators.cache import never_cache
from django.views.decorators.http import require_http_methods

from shop import cart as carts
from shop.forms import CopiesForm
from shop.models import Book


@never_cache
@require_http_methods(["GET", "HEAD", "POST"])
def cart(request: HttpRequest) -> HttpResponse:
    """Show the cart; a POST sets the number of copies of one book."""
    wanted = carts.quantities(request.session)
    form = None
    if request.method == "POST":
        form = CopiesForm(request.POST)
        if form.is_valid():
            book = get_object_or_404(Book.objects.only("stock"), pk=form.cleaned_data["book"])
            copies = form.cleaned_data["quantity"]
            if copies > book.stock:
                form.add_error("quantity", f"Only {book.stock} copies are left.")
            elif len(wanted | {book.pk: copies}) > carts.MAX_TITLES:
                form.add_error("quantity", f"A cart holds {carts.MAX_TITLES} titles at most.")
            else:
                carts.put(request.session, wanted | {book.pk: copies})
                return redirect("cart")
    lines = carts.lines(wanted)
    return render(
        request,
        "shop/cart.html",
        {"lines": lines, "total": carts.total(lines), "form": form},
        status=422 if form is not None else 200,
    )

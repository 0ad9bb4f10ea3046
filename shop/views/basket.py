"""The cart page."""

from django.http import HttpRequest, HttpResponse
from django.shortcuts import get_object_or_404, redirect, render
from django.views.decorators.http import require_http_methods

from shop import cart as carts
from shop.forms import CopiesForm
from shop.models import Book
from shop.views.freshness import always_fresh


@always_fresh
@require_http_methods(["GET", "HEAD", "POST"])
def cart(request: HttpRequest) -> HttpResponse:
    """Show the cart; a POST sets the number of copies of one book."""
    wanted = carts.quantities(request.session)
    form = None
    if request.method == "POST":
        form = CopiesForm(request.POST)
        if form.is_valid():
            book = get_object_or_404(
                Book.objects.only("title", "stock"), pk=form.cleaned_data["book"]
            )
            copies = form.cleaned_data["quantity"]
            if copies > book.stock:
                form.add_error("quantity", _too_many(book))
            elif len(wanted | {book.pk: copies}) > carts.MAX_TITLES:
                form.add_error("quantity", f"A cart can hold at most {carts.MAX_TITLES} titles.")
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


def _too_many(book: Book) -> str:
    if not book.stock:
        return f"“{book.title}” is out of stock at the moment."
    left = "1 copy is" if book.stock == 1 else f"{book.stock} copies are"
    return f"Only {left} left of “{book.title}”."

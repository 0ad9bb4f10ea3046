"""The shop's URL patterns; the first eight are the eight page types (docs/shop.md)."""

from django.urls import path

from shop.views import accounts, basket, browsing, checkout, errors

urlpatterns = [
    path("", browsing.home, name="home"),
    path("browse/<slug:slug>/", browsing.browse, name="browse"),
    path("search/", browsing.search, name="search"),
    path("books/<int:book_id>/", browsing.details, name="details"),
    path("checkout/login/", checkout.login_step, name="checkout-login"),
    path("checkout/shipping/", checkout.shipping_step, name="checkout-shipping"),
    path("checkout/payment/", checkout.payment_step, name="checkout-payment"),
    path("checkout/confirm/", checkout.confirm_step, name="checkout-confirm"),
    path("checkout/", checkout.resume, name="checkout"),
    path("covers/<int:book_id>.svg", browsing.cover, name="cover"),
    path("cart/", basket.cart, name="cart"),
    path("account/", accounts.account, name="account"),
    path("account/orders/<int:order_id>/", accounts.order, name="order"),
    path("account/sign-in/", accounts.sign_in, name="sign-in"),
    path("account/sign-up/", accounts.sign_up, name="sign-up"),
    path("account/sign-out/", accounts.sign_out, name="sign-out"),
    path("health/", browsing.health, name="health"),
]

handler400 = errors.bad_request
handler403 = errors.forbidden
handler404 = errors.not_found
handler500 = errors.server_error

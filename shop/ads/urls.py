"""The ad server's addresses. A banner's and a contract's id has at most 18 digits."""

from django.contrib import admin
from django.urls import path, re_path

from shop.ads import views

_ID = r"(?P<id>[0-9]{1,18})"

urlpatterns = [
    path("ads/select", views.select),
    re_path(rf"^ads/banner/{_ID}\.svg$", views.picture),
    re_path(rf"^ads/click/{_ID}$", views.click),
    re_path(rf"^ads/landing/{_ID}$", views.landing),
    path("ads/contracts", views.contracts),
    re_path(rf"^ads/contracts/{_ID}$", views.contract),
    re_path(rf"^ads/contracts/{_ID}/end$", views.end),
    re_path(rf"^ads/contracts/{_ID}/report$", views.report),
    path("ads/openapi.json", views.description),
    path("ads/health", views.health),
    path("ads/admin/", admin.site.urls),
]
handler404 = "shop.ads.views.not_found"
handler500 = "shop.ads.views.failed"

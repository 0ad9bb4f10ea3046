"""The ad server's URL patterns."""

from django.contrib import admin
from django.urls import path

from shop.ads import views
from shop.ads.management.api import api

urlpatterns = [
    path("ads/select", views.select),
    path("ads/candidates", views.candidates),
    path("ads/banner/<int:id>.svg", views.picture),
    path("ads/click/<int:id>", views.click),
    path("ads/landing/<int:id>", views.landing),
    path("ads/openapi.json", views.description),
    path("ads/health", views.health),
    path("ads/metrics", views.figures),
    path("ads/admin/", admin.site.urls),
    path("ads/", api.urls),
]
handler404 = "shop.ads.views.not_found"
handler500 = "shop.ads.views.failed"

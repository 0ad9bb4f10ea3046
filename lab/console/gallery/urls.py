"""Addresses of the gallery and of the launch forms."""

from django.urls import path

from lab.console.gallery import views

urlpatterns = [
    path("", views.gallery, name="gallery"),
    path("launch/<str:name>/", views.launch, name="launch"),
    path("launch/<str:name>/predict", views.predict, name="predict"),
    path("launch/changed/<str:name>/", views.change, name="change"),
    path("launch/changed/<str:name>/predict", views.predict_change, name="predict-change"),
    path("launch/<str:name>/spec.toml", views.spec_file, name="spec-file"),
]

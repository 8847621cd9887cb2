"""The addresses of routines."""

from django.urls import path

from routines.api import manifests

urlpatterns = [
    path("routines/validate", manifests.Manifests.as_view({"post": "validate"})),
    path("routines/preview", manifests.Manifests.as_view({"post": "preview"})),
]

"""Every address. The API has no prefix and no trailing slashes."""

from django.contrib import admin
from django.urls import include, path
from django.views.generic import RedirectView
from drf_spectacular.views import SpectacularJSONAPIView, SpectacularSwaggerView

from config import health
from schedules.api import openapi  # noqa: F401  makes the authentication schemes known to the description

handler400 = "schedules.api.errors.bad_request"
handler403 = "schedules.api.errors.permission_denied"
handler404 = "schedules.api.errors.not_found"
handler500 = "schedules.api.errors.server_error"

urlpatterns = [
    path("healthz", health.healthz),
    path("readyz", health.readyz),
    path("schema", SpectacularJSONAPIView.as_view(), name="schema"),
    # Without metadata: the viewer's template cannot render what OPTIONS would answer.
    path("docs", SpectacularSwaggerView.as_view(url_name="schema", metadata_class=None), name="docs"),
    path("admin", RedirectView.as_view(pattern_name="admin:index")),
    path("admin/", admin.site.urls),
    path("", include("routines.api.urls")),
    path("", include("schedules.api.urls")),
]

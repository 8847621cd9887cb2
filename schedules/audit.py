"""A read-only audit in Django's admin: what the apps' ``admin.py`` are made of.

Tables may be large: no page counts all rows, offers them in a menu, or asks once for each.
"""

import json
from collections.abc import Callable
from typing import TYPE_CHECKING, Any, ClassVar, TypeAlias

from django.contrib import admin
from django.contrib.admin.exceptions import DisallowedModelAdminLookup
from django.core.paginator import Paginator
from django.db import DataError
from django.db.models import Model, Q, QuerySet
from django.http import HttpRequest, HttpResponse, HttpResponseRedirect
from django.utils.functional import cached_property
from django.utils.html import format_html
from django.utils.safestring import SafeString

from schedules.domain import instants

if TYPE_CHECKING:
    # Generic to the type checker alone.
    _Paginator = Paginator[Any]
    _ModelAdmin = admin.ModelAdmin[Any]
else:
    _Paginator = Paginator
    _ModelAdmin = admin.ModelAdmin

Column: TypeAlias = Callable[[Any], Any]

_COUNTED = 10_000


def instant(name: str, label: str) -> Column:
    """A column of epoch milliseconds, shown in UTC."""

    @admin.display(description=label, ordering=name)
    def shown(row: Model) -> str:
        value = getattr(row, name)
        if value is None:
            return ""  # a row's own page would show None as a word
        return instants.render(value) if instants.MIN <= value <= instants.MAX else f"{value} ms"

    return shown


def document(name: str, label: str) -> Column:
    """A column of JSON text, set out to be read."""

    @admin.display(description=label, empty_value="")
    def shown(row: Model) -> SafeString | None:
        text = getattr(row, name)
        return None if text is None else format_html("<pre>{}</pre>", json.dumps(json.loads(text), indent=2))

    return shown


class BoundedPaginator(_Paginator):
    """Pages of the first rows only, so that no list counts a whole table."""

    @cached_property
    def count(self) -> int:
        rows: Any = self.object_list
        return int(rows[:_COUNTED].count())


class ReadOnlyAdmin(_ModelAdmin):
    """A list and a page for each row, neither of which can change anything."""

    #: What a row's page shows.
    shown: ClassVar[tuple[str | Column, ...]]

    actions = None
    paginator = BoundedPaginator
    show_full_result_count = False
    list_per_page = 50
    list_max_show_all = 0
    empty_value_display = ""
    show_facets = admin.ShowFacets.NEVER

    def has_module_permission(self, request: HttpRequest) -> bool:
        # Who may log in to the admin is an operator, and may read.
        return True

    def has_view_permission(self, request: HttpRequest, obj: Model | None = None) -> bool:
        return True

    def has_add_permission(self, request: HttpRequest) -> bool:
        return False

    def has_change_permission(self, request: HttpRequest, obj: Model | None = None) -> bool:
        return False

    def has_delete_permission(self, request: HttpRequest, obj: Model | None = None) -> bool:
        return False

    def lookup_allowed(self, lookup: str, value: Any, request: HttpRequest | None = None) -> bool:
        """Only what the page itself offers: any other lookup could tell, letter by letter, a column that it hides."""
        offered = {name if isinstance(name, str) else getattr(name, "parameter_name", "") for name in self.list_filter}
        column = lookup.removesuffix("__exact").removesuffix("__isnull")
        return lookup in self.search_fields or column in offered

    def get_fields(self, request: HttpRequest, obj: Model | None = None) -> Any:
        return self.shown

    def get_readonly_fields(self, request: HttpRequest, obj: Model | None = None) -> Any:
        return self.shown

    def changelist_view(self, request: HttpRequest, extra_context: Any = None) -> HttpResponse:
        try:
            return super().changelist_view(request, extra_context)
        except (DataError, DisallowedModelAdminLookup, OverflowError, ValueError):
            # A filter typed into the address that is not offered, or that the database cannot even compare.
            return HttpResponseRedirect(request.path)

    def get_object(self, request: HttpRequest, object_id: str, from_field: str | None = None) -> Model | None:
        try:
            return super().get_object(request, object_id, from_field)
        except (DataError, OverflowError):
            return None


def choices(
    about: str, parameter: str, offered: dict[str, tuple[str, Callable[[], Q]]]
) -> type[admin.SimpleListFilter]:
    """A filter by what it offers: for each value its label and its condition. Any other value filters nothing."""

    class Choices(admin.SimpleListFilter):
        title = about
        parameter_name = parameter

        def lookups(self, request: HttpRequest, model_admin: Any) -> list[tuple[str, str]]:
            return [(value, label) for value, (label, _) in offered.items()]

        def queryset(self, request: HttpRequest, queryset: QuerySet[Any]) -> QuerySet[Any]:
            chosen = offered.get(self.value() or "")
            return queryset if chosen is None else queryset.filter(chosen[1]())

    return Choices

"""Times on the pages of the admin, with seconds and time zone, and readable for scripts."""

from collections.abc import Callable, Iterable
from datetime import UTC, datetime
from functools import cache
from typing import Any

from django.contrib import admin
from django.contrib.admin.utils import flatten_fieldsets
from django.core.exceptions import FieldDoesNotExist
from django.db import models
from django.http import HttpRequest, HttpResponse
from django.utils.formats import date_format
from django.utils.html import format_html
from django.utils.safestring import SafeString


def time_tag(at: datetime | None) -> SafeString | str:
    """A `<time>` element to the second; `static/halo/times.js` shows it in the reader's zone."""
    if at is None:
        return ""
    moment = at.astimezone(UTC)
    return format_html(
        '<time datetime="{}" data-local="time">{} UTC</time>',
        moment.isoformat(timespec="seconds"),
        date_format(moment, "M j, Y, H:i:s"),
    )


class TimesAdmin(admin.ModelAdmin):  # type: ignore[type-arg]
    """Times in the columns of the list and in the read-only fields of a page are `<time>`s."""

    def get_list_display(self, request: HttpRequest) -> Any:
        return [_as_time(self.model, one) for one in super().get_list_display(request)]

    def render_change_form(
        self, request: HttpRequest, context: dict[str, Any], *args: Any, **more: Any
    ) -> HttpResponse:
        form = context["adminform"]
        _show_times(form, self.model, form.readonly_fields)
        for rows in context["inline_admin_formsets"]:
            may_enter = rows.has_change_permission or rows.has_add_permission
            read_only = rows.readonly_fields if may_enter else flatten_fieldsets(rows.fieldsets)
            _show_times(rows, rows.opts.model, read_only)
        answer: HttpResponse = super().render_change_form(request, context, *args, **more)
        return answer


def _show_times(form: Any, model: type[models.Model], read_only: Iterable[Any]) -> None:
    """Replaces read-only times of a form or formset of the admin, as it is rendered."""
    shown = {name: _as_time(model, name) for name in read_only}
    form.readonly_fields = [shown.get(name, name) for name in form.readonly_fields]
    form.fieldsets = [
        (title, {**options, "fields": _replace_names(options["fields"], shown)})
        for title, options in form.fieldsets
    ]


def _replace_names(names: Iterable[Any], shown: dict[Any, Any]) -> list[Any]:
    """The names of fields, which may stand in lines, with what is shown in place of some."""
    return [
        _replace_names(name, shown) if isinstance(name, list | tuple) else shown.get(name, name)
        for name in names
    ]


def _as_time(model: type[models.Model], name: Any) -> Any:
    """What shows a time as an element, for the name of one; anything else as it is."""
    try:
        field = model._meta.get_field(name) if isinstance(name, str) else None
    except FieldDoesNotExist:
        return name
    return _time_column(field) if isinstance(field, models.DateTimeField) else name


@cache
def _time_column(field: Any) -> Callable[[Any], SafeString | str]:
    """The same function each time: Django looks fields up by it."""

    @admin.display(description=field.verbose_name, ordering=field.name, empty_value="-")
    def display_time(row: Any) -> SafeString | str:
        return time_tag(getattr(row, field.name)) or "-"

    # The name is the CSS class of the column.
    display_time.__name__ = field.name
    return display_time

"""Times in the lists of the admin, with seconds and time zone, and readable for scripts."""

from collections.abc import Callable
from datetime import UTC, datetime
from typing import Any

from django.contrib import admin
from django.core.exceptions import FieldDoesNotExist
from django.db import models
from django.http import HttpRequest
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
    """A list whose columns of times are `<time>` elements."""

    def get_list_display(self, request: HttpRequest) -> Any:
        return [self._column(one) for one in super().get_list_display(request)]

    def _column(self, name: Any) -> Any:
        try:
            field = self.model._meta.get_field(name) if isinstance(name, str) else None
        except FieldDoesNotExist:
            return name
        return _time_column(field, name) if isinstance(field, models.DateTimeField) else name


def _time_column(field: Any, name: str) -> Callable[[Any], SafeString | str]:
    @admin.display(description=field.verbose_name, ordering=name, empty_value="-")
    def display_time(row: Any) -> SafeString | str:
        return time_tag(getattr(row, name)) or "-"

    # The name is the CSS class of the column.
    display_time.__name__ = name
    return display_time

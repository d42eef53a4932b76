"""The filter of the admin's lists by when a key, token, client or authorization was last used."""

from datetime import timedelta
from typing import Any, Final

from django.contrib import admin
from django.db.models import Q, QuerySet
from django.http import HttpRequest
from django.utils import timezone
from django.utils.translation import gettext_lazy as _

# The days since the last use: fewer, or more, or never used.
WITHIN: Final = {"7": 7, "30": 30}
NOT_WITHIN: Final = {"not-30": 30, "not-90": 90}


class LastUsedFilter(admin.SimpleListFilter):
    """Rows by their column, or annotation, `last_used_at`."""

    title, parameter_name = _("last used"), "used"

    def lookups(self, request: HttpRequest, model_admin: Any) -> list[tuple[str, Any]]:  # noqa: ARG002  Django's signature
        return [
            ("7", _("Within the last 7 days")),
            ("30", _("Within the last 30 days")),
            ("not-30", _("Not for 30 days")),
            ("not-90", _("Not for 90 days")),
        ]

    def queryset(self, request: HttpRequest, queryset: QuerySet[Any]) -> QuerySet[Any]:  # noqa: ARG002  Django's signature
        value = self.value() or ""
        days = {**WITHIN, **NOT_WITHIN}.get(value)
        if days is None:
            return queryset
        since = timezone.now() - timedelta(days=days)
        if value in WITHIN:
            return queryset.filter(last_used_at__gte=since)
        return queryset.filter(Q(last_used_at__lt=since) | Q(last_used_at=None))

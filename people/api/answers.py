"""How operations put rows into answers."""

from collections.abc import Iterable, Mapping
from typing import Any

from django.db.models import QuerySet
from rest_framework.serializers import Serializer

from people.api import etags, paging
from people.api.operation import Answer
from people.api.paging import Order


def one(
    shape: type[Serializer],
    row: Any,
    *,
    context: Mapping[str, Any] | None = None,
    also: Mapping[str, Any] | None = None,
) -> Answer:
    """Returns one resource with its entity tag."""
    body = shape(row, context=dict(context or {})).data
    return Answer({"data": body, **(also or {})}, etags.of(body, getattr(row, "version", 1)))


def many(
    shape: type[Serializer], rows: Iterable[Any], *, context: Mapping[str, Any] | None = None
) -> Answer:
    """Returns a list without pages."""
    return Answer({"data": shape(rows, many=True, context=dict(context or {})).data})


def paged(
    shape: type[Serializer],
    rows: QuerySet[Any],
    query: Mapping[str, Any],
    order: Order,
    *,
    context: Mapping[str, Any] | None = None,
) -> Answer:
    """Returns the page that a query asks for."""
    found = paging.page(rows, query, order)
    body = shape(found.rows, many=True, context=dict(context or {})).data
    return Answer({"data": body, "pagination": found.pagination})

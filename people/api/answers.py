"""How operations put rows into answers."""

from collections.abc import Iterable, Mapping
from typing import Any

from django.db.models import QuerySet
from rest_framework.serializers import Serializer

from people.api.operation import OperationAnswer
from rest import etags, paging
from rest.paging import PageOrder


def one(
    shape: type[Serializer],
    row: Any,
    *,
    context: Mapping[str, Any] | None = None,
    also: Mapping[str, Any] | None = None,
) -> OperationAnswer:
    """Returns one resource with its entity tag."""
    body = shape(row, context=dict(context or {})).data
    return OperationAnswer(
        {"data": body, **(also or {})}, etags.compute_tag(body, getattr(row, "version", 1))
    )


def many(
    shape: type[Serializer], rows: Iterable[Any], *, context: Mapping[str, Any] | None = None
) -> OperationAnswer:
    """Returns a list without pages."""
    return OperationAnswer({"data": shape(rows, many=True, context=dict(context or {})).data})


def paginate(
    shape: type[Serializer],
    rows: QuerySet[Any],
    query: Mapping[str, Any],
    order: PageOrder,
    *,
    context: Mapping[str, Any] | None = None,
    also: Mapping[str, Any] | None = None,
) -> OperationAnswer:
    """Returns the page that a query asks for."""
    found = paging.build_page(rows, query, order)
    body = shape(found.rows, many=True, context=dict(context or {})).data
    return OperationAnswer({"data": body, "pagination": found.pagination, **(also or {})})

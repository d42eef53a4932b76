"""Lists that records refer to."""

from collections.abc import Callable, Mapping, Sequence
from functools import partial
from typing import Any, Final

from rest_framework import serializers

from people import allowances, countries, days
from people.api import answers, shapes, time_off_shapes
from people.api.fields import ResourceSerializer
from people.api.operation import CheckedCall, Operation, OperationAnswer
from people.api.operations.organisation import find_organization
from people.models import AbsenceStatus, ReferenceItem, ReferenceKind, TimeOffCategory


class TimeOffStatusSerializer(ResourceSerializer):
    id = serializers.CharField()
    label = serializers.CharField()


class CountrySerializer(ResourceSerializer):
    id = serializers.CharField()
    name = serializers.CharField()
    country_code = serializers.CharField(help_text="ISO 3166, two letters.")
    phone_code = serializers.CharField()
    currency_code = serializers.CharField(help_text="ISO 4217, three letters.")
    currency = serializers.CharField()


def items(kind: ReferenceKind, call: CheckedCall) -> OperationAnswer:
    rows = call.rows(ReferenceItem).filter(kind=kind, is_active=True)
    return answers.many(shapes.LabelledSerializer, rows)


def time_off_statuses(_call: CheckedCall) -> OperationAnswer:
    rows = [{"id": f"tos_{one.value}", "label": str(one.label)} for one in AbsenceStatus]
    return answers.many(TimeOffStatusSerializer, rows)


def all_countries(_call: CheckedCall) -> OperationAnswer:
    return answers.many(CountrySerializer, countries.list_all())


def categories(call: CheckedCall) -> OperationAnswer:
    rows = list(call.rows(TimeOffCategory))
    shape = time_off_shapes.CategorySerializer
    return answers.many(shape, rows, context=_find_days_a_year(call, rows))


def category(call: CheckedCall) -> OperationAnswer:
    row = call.row(TimeOffCategory, call.path["category_id"])
    context = _find_days_a_year(call, [row])
    return answers.one(time_off_shapes.CategorySerializer, row, context=context)


def _find_days_a_year(call: CheckedCall, rows: Sequence[TimeOffCategory]) -> Mapping[str, Any]:
    """The days a year of each category today, by its id, as the context of its shape."""
    policies = allowances.list_policies(call.organization_id, rows)
    today = days.today(find_organization(call))
    return {
        "days_a_year": {
            one.pk: allowances.find_days_a_year(one, policies[one.pk], today) for one in rows
        }
    }


CATEGORY_EXAMPLE: Final = {
    "id": "toc_3h",
    "name": "Annual leave",
    "kind": "allowance",
    "name_for_ai": "Absence",
    "allowance_days": 28.0,
    "is_discretionary": False,
    "carry_over": 5.0,
    "carried_until": "03-31",
    "carries_debt": True,
    "is_active": True,
    "order": 0,
    "updated_at": "2026-01-05T09:00:00Z",
}


# The id is needed to request time off; the name is what the organization allows.
CATEGORY_PROJECTION: Final = (
    *(
        "id",
        "name<-name_for_ai",
        "kind",
        "allowance_days",
        "carry_over",
        "carried_until",
        "carries_debt",
        "is_discretionary",
        "is_active",
        "order",
    ),
)


def _list(
    name: str,
    path: str,
    summary: str,
    run: Callable[[CheckedCall], OperationAnswer],
    *,
    example: Mapping[str, Any],
    response: type[ResourceSerializer] = shapes.LabelledSerializer,
    projection: tuple[str, ...] = ("id", "label"),
) -> Operation:
    return Operation(
        id=name,
        path=f"reference/{path}",
        scope="reference:read",
        summary=summary,
        run=run,
        response=response,
        lists=True,
        example=example,
        projection=projection,
    )


OPERATIONS: Final = (
    _list(
        "listReferenceCountries",
        "countries",
        "List the countries, with telephone codes and currencies.",
        all_countries,
        response=CountrySerializer,
        example={
            "id": "cty_de",
            "name": "Germany",
            "country_code": "DE",
            "phone_code": "+49",
            "currency_code": "EUR",
            "currency": "Euro",
        },
        projection=("id", "name", "country_code"),
    ),
    _list(
        "listReferenceStatuses",
        "statuses",
        "List the statuses of people.",
        partial(items, ReferenceKind.PROFILE_STATUS),
        example={"id": "sts_2f", "label": "Active"},
    ),
    _list(
        "listReferenceWorkTypes",
        "work-types",
        "List the types of work.",
        partial(items, ReferenceKind.WORK_TYPE),
        example={"id": "wt_7d", "label": "Permanent"},
    ),
    _list(
        "listReferenceWorkPlaces",
        "work-places",
        "List the work places.",
        partial(items, ReferenceKind.WORK_PLACE),
        example={"id": "wp_4k", "label": "Berlin"},
    ),
    _list(
        "listReferenceDocumentTypes",
        "document-types",
        "List the types of documents.",
        partial(items, ReferenceKind.DOCUMENT_TYPE),
        example={"id": "dty_1a", "label": "Contract"},
    ),
    _list(
        "listReferenceTimeOffStatuses",
        "time-off-statuses",
        "List the statuses of time off.",
        time_off_statuses,
        response=TimeOffStatusSerializer,
        example={"id": "tos_pending", "label": "Pending"},
    ),
    _list(
        "listReferenceTimeOffCategories",
        "time-off-categories",
        "List the categories of time off.",
        categories,
        response=time_off_shapes.CategorySerializer,
        example=CATEGORY_EXAMPLE,
        projection=CATEGORY_PROJECTION,
    ),
    Operation(
        id="getTimeOffCategory",
        path="reference/time-off-categories/{category_id}",
        scope="reference:read",
        summary="Read one category of time off.",
        run=category,
        response=time_off_shapes.CategorySerializer,
        example=CATEGORY_EXAMPLE,
        projection=CATEGORY_PROJECTION,
    ),
)

"""The field of a form for whose organization something is made."""

from collections.abc import Iterable
from typing import Any
from uuid import UUID

from django import forms
from django.utils.translation import gettext_lazy

from workspace.models import Organization


class OrganizationField(forms.ModelChoiceField):  # type: ignore[type-arg]  # as Django has it at run time
    """Offers the organizations that `offer` names; where there is one, it is not asked for."""

    def __init__(self, **more: Any) -> None:
        super().__init__(
            Organization.objects.none(),
            label=gettext_lazy("Organization"),
            empty_label=None,
            **more,
        )


def offer(form: forms.Form, ids: Iterable[UUID]) -> None:
    """Offers these organizations in the field `organization` of a form."""
    field: Any = form.fields["organization"]
    field.queryset = Organization.objects.filter(pk__in=[*ids]).order_by("name")
    own = list(field.queryset[:2])
    if len(own) == 1:
        field.initial, field.widget = own[0].pk, forms.HiddenInput()

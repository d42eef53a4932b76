"""H2: the address of an admin list accepts the lookups of its declared filters, and no others."""

from collections.abc import Iterator
from typing import Any

import pytest
from django.contrib import admin
from django.contrib.admin.views.main import ChangeList
from django.db import models
from django.test import Client, RequestFactory
from django.urls import reverse

from audit.models import ActionExecution
from oauth.models import IDToken
from workspace.administration.lookups import DeclaredLookupsAdmin
from workspace.models import Organization, User

LISTED = [model for model in admin.site._registry if model is not IDToken]
LOOKUPS = ("regex", "iregex", "startswith", "contains", "gt", "in", "range", "endswith")
NAMED = {
    "workspace.user": ("password__startswith", "groups__permissions__codename__startswith"),
    "workspace.organization": ("identity_secret__startswith", "widget_key__regex"),
    "mfa.authenticator": ("data__secret__startswith", "data__seed__regex"),
    "oauth.client": ("secret_sha256__startswith", "metadata__contains"),
    "oauth.accesstoken": ("token_checksum__startswith", "authorization__user__password__regex"),
    "oauth.refreshtoken": ("token_checksum__startswith", "sealed_reply__startswith"),
    "oauth.grant": ("code__startswith", "code_challenge__startswith"),
    "tools_registry.integrationmode": ("credential__sealed__startswith", "settings__key__regex"),
    "audit.actionexecution": ("tool__regex", "arguments__secret__startswith"),
}


@pytest.fixture
def root(db: None) -> Client:  # noqa: ARG001  opens the database
    client = Client()
    client.force_login(User.objects.create_superuser("root@halo.example"))
    return client


def changelist(model: type[models.Model]) -> str:
    meta = model._meta
    return reverse(f"admin:{meta.app_label}_{meta.model_name}_changelist")


def undeclared_lookups(model: type[models.Model]) -> Iterator[str]:
    """Lookups on every column of a model, and one step along every relation."""
    yield from NAMED.get(model._meta.label_lower, ())
    for field in model._meta.get_fields():
        for lookup in LOOKUPS:
            yield f"{field.name}__{lookup}"
        related: Any = field.related_model
        if isinstance(related, type) and issubclass(related, models.Model):
            for column in related._meta.concrete_fields:
                yield f"{field.name}__{column.name}__regex"
                yield f"{field.name}__{column.name}__startswith"


def test_h2_every_model_admin_checks_lookups() -> None:
    unchecked = [
        model._meta.label
        for model, model_admin in admin.site._registry.items()
        if not isinstance(model_admin, DeclaredLookupsAdmin)
        or type(model_admin).lookup_allowed is not DeclaredLookupsAdmin.lookup_allowed
        or not issubclass(model_admin.get_changelist(None), ChangeList)
    ]
    assert unchecked == []


@pytest.mark.parametrize("model", LISTED, ids=lambda model: model._meta.label_lower)
def test_h2_no_list_takes_a_lookup_that_it_does_not_declare(
    model: type[models.Model], root: Client
) -> None:
    address = changelist(model)
    allowed = admin.site._registry[model].lookup_allowed
    request = RequestFactory().get(address)
    assert [one for one in undeclared_lookups(model) if allowed(one, "x", request)] == []
    columns = [column.name for column in model._meta.concrete_fields]
    tried = [*NAMED.get(model._meta.label_lower, ()), f"{columns[-1]}__regex", "pk__startswith"]
    answers = {root.get(address, {lookup: "x"}).status_code for lookup in tried}
    assert answers == {400}


def test_h2_a_slow_pattern_never_reaches_the_database(root: Client) -> None:
    # With a backtracking engine this pattern would take longer than any test run.
    ActionExecution.objects.create(
        actor_kind="agent", outcome="success", tool="a" * 60 + "!", method="tools/call"
    )
    answer = root.get(changelist(ActionExecution), {"tool__regex": "(a+)+$"})
    assert answer.status_code == 400


@pytest.mark.parametrize("model", LISTED, ids=lambda model: model._meta.label_lower)
def test_h2_the_other_parameters_of_a_list_lead_to_no_other_column(
    model: type[models.Model], root: Client
) -> None:
    Organization.objects.create(name="Acme", slug="acme")
    address = changelist(model)
    for parameters in ({"_facets": "1", "o": "-1.99.x", "_popup": "1"}, {"o": "password"}):
        assert root.get(address, parameters).status_code == 200
    for column in ("password", "token_checksum", "data", "memberships"):
        assert root.get(address, {"_to_field": column}).status_code == 400


def test_h2_facets_are_never_counted(root: Client) -> None:
    shown = root.get(changelist(User), {"_facets": "1"}).content.decode()
    assert "is_staff" in shown
    assert "Show counts" not in shown

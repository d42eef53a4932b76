"""An organization's admins use the Django admin for their own organization, and for no other."""

import re
from collections.abc import Iterator
from typing import Any

import pytest
from django.contrib import admin
from django.contrib.admin.models import LogEntry
from django.db import models
from django.urls import URLPattern, URLResolver, get_resolver, reverse

from approvals.models import ApprovalRequest
from audit.models import ActionExecution, SecurityEvent
from foundation.admin_urls import model_url, page_url
from oauth.models import Authorization
from tests.drivers.full_tenants import FullTenant, tenant
from tests.drivers.shown_forms import save
from tools_registry.models import ActionToggle, IntegrationMode
from workspace.administration import access as admin_access
from workspace.administration.scoped import ScopedAdmin, ScopedInline
from workspace.models import (
    Agent,
    Customer,
    DataImport,
    FeatureFlag,
    Membership,
    Organization,
    Role,
    Ticket,
)

MARK = "zweiteorg"
# What admins change on the page of another row.
WITHOUT_A_LIST = {
    "agents.agentoption",
    "workspace.featureflag",
    "workspace.agent",
    "people.personrelationship",
    "people.orgunitmembership",
    "people.document",
    "people.customfieldvalue",
}
# Both roles have the same rights in the admin, but for the roles that they give.
ROLES = [Role.ADMIN, pytest.param(Role.SUPER_ADMIN, marks=pytest.mark.daily)]
MODELS = [model for model in admin.site._registry if model._meta.label != "oauth.IDToken"]


@pytest.fixture
def ours(db: None) -> FullTenant:  # noqa: ARG001  opens the database
    return tenant("ourorg")


@pytest.fixture
def theirs(db: None) -> FullTenant:  # noqa: ARG001  opens the database
    return tenant(MARK)


def patterns(resolver: URLResolver) -> Iterator[URLPattern]:
    for one in resolver.url_patterns:
        if isinstance(one, URLResolver):
            yield from patterns(one)
        else:
            yield one


def admin_addresses(theirs: FullTenant, model: type[models.Model]) -> set[str]:
    """Every named address of a model's pages in the admin, with the ids of another organization."""
    row, place = theirs.rows[model], theirs.organization
    meta = model._meta
    (site,) = (one for one in get_resolver().url_patterns if str(one.pattern) == "admin/")
    own = f"{meta.app_label}_{meta.model_name}_"
    others = tuple(
        f"{each._meta.app_label}_{each._meta.model_name}_" for each in MODELS if each is not model
    )
    found = set()
    for pattern in patterns(site):
        name = str(pattern.name)
        of_the_app = name.startswith(meta.app_label) and not name.startswith(others)
        if not (name.startswith(own) or of_the_app):
            continue
        taken = pattern.pattern.converters
        known = {"object_id": row.pk, "id": row.pk, "pk": row.pk, "organization_id": place.pk}
        known |= {"integration": "hubspot", "client_pk": row.pk, "kind": "csv"}
        arguments = {name: known[name] for name in taken}
        if "pk" in taken and model is not ApprovalRequest:
            arguments["pk"] = theirs.rows[ApprovalRequest].pk
        found.add(page_url(name, *(arguments[key] for key in taken)))
    return found


def state() -> list[Any]:
    """Every row of every tenant-owned table, except sessions and the log of the admin."""
    tables = [*(model for model in MODELS if model._meta.app_label != "mfa"), Agent, FeatureFlag]
    return [
        (model._meta.label, *sorted(map(repr, model._default_manager.values_list())))
        for model in tables
        if model not in {SecurityEvent, ActionExecution}
    ]


def test_every_page_of_the_admin_is_limited_to_organizations() -> None:
    pages = admin.site._registry
    inlines = [inline for page in pages.values() for inline in page.inlines]
    assert all(isinstance(page, ScopedAdmin) for page in pages.values())
    assert all(issubclass(inline, ScopedInline) for inline in inlines)
    for name in ("get_queryset", "get_list_filter", "history_view"):
        own = {getattr(type(page), name) for page in pages.values()}
        assert own == {getattr(ScopedAdmin, name)}, name
    with_lookup = (model for model, page in pages.items() if page.organization_lookup)
    labels = {model._meta.label_lower for model in with_lookup}
    assert labels == {*admin_access.VERBS_OF_ADMINS} - WITHOUT_A_LIST


@pytest.mark.slow
@pytest.mark.django_db
@pytest.mark.parametrize("role", ROLES)
def test_no_address_of_the_admin_shows_or_changes_another_organization(role: Role) -> None:
    ours, theirs = tenant("ourorg", role=role), tenant(MARK)
    browser, before = ours.browser(), state()
    # What confirms a deletion, an action or a decision; without it, a page says what it would do.
    form = {"post": "yes", "act": "disconnect", "note": "no"}
    addresses = set[str]()
    for model in set(MODELS) & set(theirs.rows):
        own = admin_addresses(theirs, model)
        assert len(own) >= 4
        addresses |= own
    for address in sorted(addresses):
        shown = browser.get(address)
        assert shown.status_code < 500, address
        assert shown.status_code != 200 or MARK not in b"".join(shown).decode(), address
        answer = browser.post(address, form)
        assert answer.status_code < 500, address
        assert MARK not in b"".join(answer).decode(), address
    assert state() == before


@pytest.mark.slow
def test_another_organizations_row_is_answered_as_a_missing_one(
    ours: FullTenant, theirs: FullTenant
) -> None:
    browser = ours.browser()
    for model, row in theirs.rows.items():
        if model not in MODELS:
            continue
        for page in ("change", "delete", "history"):
            answers = []
            for key in (row.pk, missing(row)):
                answer = browser.get(model_url(model, page, key), follow=True)
                said = answer.content.decode().replace(str(key), "ID")
                # The page leads to sign-in and back to its own address, where keys are quoted.
                said = said.replace(model_url(model, page, key).replace("/", "%2F"), "HERE")
                said = re.sub(r'(csrfmiddlewaretoken" value|nonce)="[^"]*"', "", said)
                answers.append((answer.status_code, answer.redirect_chain, said))
            assert answers[0] == answers[1], (model, page)


def missing(row: models.Model) -> str:
    """A key of the same form that no row has."""
    text = str(row.pk)
    return text[:-4] + ("0000" if text[-4:] != "0000" else "1111")


@pytest.mark.slow
@pytest.mark.django_db
@pytest.mark.parametrize("role", ROLES)
def test_lists_filters_and_searches_hold_own_rows_only(role: Role) -> None:
    ours, theirs = tenant("ourorg", role=role), tenant(MARK)
    browser = ours.browser()
    opened = []
    for model in MODELS:
        address = model_url(model, "changelist")
        for query in (
            {},
            {"q": MARK},
            {"o": "1"},
            {"_to_field": "id"},
        ):
            answer = browser.get(address, query)
            said = answer.content.decode().replace(f'value="{MARK}"', "").replace(f"q={MARK}", "")
            said = said.replace(f"q%3D{MARK}", "")
            assert MARK not in said, (address, query)
            assert str(theirs.organization.pk) not in said, (address, query)
        if answer.status_code == 200:
            opened.append(model._meta.label_lower)
            # The list has what is looked for: the organization's own row.
            own = browser.get(address).content.decode()
            assert model_url(model, "change", ours.rows[model].pk) in own, address
    assert set(opened) == {*admin_access.VERBS_OF_ADMINS} - WITHOUT_A_LIST
    named = {"organization": str(theirs.organization.pk)}
    assert MARK not in browser.get(model_url(ActionExecution, "changelist"), named).content.decode()
    for model in (Customer, Ticket, Membership, Authorization, ApprovalRequest, IntegrationMode):
        chosen = {"organization__id__exact": str(theirs.organization.pk)}
        answer = browser.get(model_url(model, "changelist"), chosen, follow=True)
        assert MARK not in answer.content.decode()


def test_forms_offer_and_accept_own_choices_only(ours: FullTenant, theirs: FullTenant) -> None:
    browser, place = ours.browser(), str(theirs.organization.pk)
    before = state()
    agent = theirs.rows[Agent]
    sent: list[tuple[type[models.Model], dict[str, str]]] = [
        (Customer, {"organization": place, "name": "planted"}),
        (DataImport, {"organization": place, "kind": "customers", "file": ""}),
        (IntegrationMode, {"organization": place, "integration": "hubspot", "actions_on": "on"}),
        (ActionToggle, {"agent": str(agent.pk), "integration": "hubspot", "action": "x"}),
        (Membership, {"organization": place, "user": str(ours.admin.pk), "role": "admin"}),
        (Organization, {"name": "new", "slug": "new", "time_zone": "UTC", "currency": "USD"}),
    ]
    for model, form in sent:
        address = model_url(model, "add")
        assert MARK not in browser.get(address).content.decode()
        answer = browser.post(address, form)
        assert answer.status_code in {200, 403}, address
        assert MARK not in answer.content.decode()
    moved = ours.rows[ActionToggle]
    form = {"agent": str(agent.pk), "integration": "hubspot", "action": "x"}
    assert save(browser, model_url(ActionToggle, "change", moved.pk), form).status_code == 200
    assert state() == before


def is_relation(field: Any) -> bool:
    return bool(field.is_relation)


def test_autocomplete_answers_with_own_rows_only(ours: FullTenant, theirs: FullTenant) -> None:
    browser = ours.browser()
    fields = [
        (model._meta.app_label, model._meta.model_name, field.name)
        for model in [*MODELS, Agent, FeatureFlag, LogEntry]
        # Of the columns without rows to choose from, which are all refused alike, one.
        for field in [*filter(is_relation, model._meta.get_fields()), model._meta.pk]
    ]
    found = 0
    for app_label, model_name, field_name in fields:
        query = {"app_label": app_label, "model_name": model_name, "field_name": field_name}
        answer = browser.get(reverse("admin:autocomplete"), query | {"term": ""})
        assert answer.status_code in {200, 403, 404}, query
        assert MARK not in answer.content.decode(), query
        if answer.status_code == 200:
            found += "ourorg" in answer.content.decode()
            answer = browser.get(reverse("admin:autocomplete"), query | {"term": MARK})
            assert MARK not in answer.content.decode(), query
    assert found
    assert theirs.rows


def test_actions_leave_the_rows_of_another_organization(
    ours: FullTenant, theirs: FullTenant
) -> None:
    browser, before = ours.browser(), state()
    for model in set(MODELS) & set(theirs.rows):
        own = (getattr(one, "__name__", one) for one in admin.site._registry[model].actions or ())
        for action in ("delete_selected", *own):
            chosen = {"action": action, "_selected_action": [str(theirs.rows[model].pk)]}
            for form in (chosen | {"select_across": "0"}, chosen | {"post": "yes"}):
                answer = browser.post(model_url(model, "changelist"), form)
                assert MARK not in answer.content.decode()
    assert state() == before

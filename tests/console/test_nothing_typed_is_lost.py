"""What was entered in a form is there after an error and after signing in again.

The forms are found: in the admin by its registry, in the console by its addresses. A new form is
tried without being named here.
"""

from collections.abc import Iterator
from typing import Any
from urllib.parse import urlencode

import pytest
from django.contrib import admin
from django.test import Client

from console.kept_forms import SECRET_FIELDS, SECRET_FIELDS_OF_VIEWS, SECRET_VIEWS, SESSION_KEY
from gateway.models import PolicyRule
from tests.drivers import every_form
from tests.drivers.every_form import FoundForm, view_of
from tests.drivers.full_tenants import tenant
from tests.drivers.grants import make_grant
from tests.drivers.reviewed_project import ReviewedProject, open_reviewed_project
from tests.drivers.shown_forms import PageForm, forms_in
from workspace.models import Role, User

ORIGIN = "http://testserver"
LABELS = sorted({model._meta.app_label for model in admin.site._registry})


def secrets_of(form: PageForm) -> frozenset[str]:
    return SECRET_FIELDS | SECRET_FIELDS_OF_VIEWS.get(view_of(form.action), frozenset())


def is_kept(found: FoundForm) -> bool:
    return not view_of(found.form.action).startswith(SECRET_VIEWS)


def find_form(response: Any, found: FoundForm) -> PageForm | None:
    """The same form on the page of a response."""
    same = [one for one in forms_in(response, found.page) if one.action == found.form.action]
    names = every_form.typed_names(found.form)
    return max(same, key=lambda one: len(every_form.typed_names(one) & names), default=None)


def find_lost(form: PageForm, entered: dict[str, Any], secrets: frozenset[str]) -> dict[str, Any]:
    """The fields that a form does not have as they were entered."""
    return {
        name: (values, form.fields.get(name, []))
        for name, values in entered.items()
        if form.kinds.get(name, "hidden") != "hidden"
        and name not in secrets
        and sorted(values) != sorted(form.fields.get(name, []))
    }


def assert_is_kept(user: User, found: FoundForm, entered: dict[str, Any]) -> None:
    """Sends a form without the session that has ended, signs in, and finds it filled."""
    headers = {"Origin": ORIGIN, "Referer": ORIGIN + found.page}
    sign_in = f"/signin?{urlencode({'next': found.page})}"
    # The variant in which the cookie of the CSRF token is there.
    reached = Client().post(found.form.action, entered, headers=headers)
    assert (reached.status_code, reached["Location"]) == (302, sign_in), found.name
    browser = Client(enforce_csrf_checks=True)
    refused = browser.post(found.form.action, entered, headers=headers)
    assert (refused.status_code, refused["Location"]) == (302, sign_in), found.name
    for name in secrets_of(found.form) & {*entered}:
        assert name not in browser.session[SESSION_KEY][0]["fields"], found.name
    browser.force_login(user)
    shown = browser.get(found.page)
    form = find_form(shown, found)
    assert form is not None, found.name
    assert "Nothing was saved" in b"".join(shown).decode()
    assert find_lost(form, entered, secrets_of(found.form)) == {}, found.name


def assert_survives_an_error(client: Client, found: FoundForm, entered: dict[str, Any]) -> None:
    """Sends a form with values that are refused, and finds it filled."""
    answer = client.post(found.form.action, entered)
    if answer.status_code in {200, 400}:
        form = find_form(answer, found)
        if form is not None:
            assert find_lost(form, entered, secrets_of(found.form)) == {}, found.name


def assert_secrets_are_named(found: FoundForm) -> None:
    hidden = {name for name, kind in found.form.kinds.items() if kind == "password"}
    assert not is_kept(found) or hidden <= secrets_of(found.form), found.name


@pytest.mark.django_db
@pytest.mark.parametrize("label", LABELS)
def test_no_form_of_the_admin_loses_what_was_entered(label: str) -> None:
    ours, user = tenant("ourorg"), User.objects.create_superuser("boss@example.com")
    client = Client()
    client.force_login(user)
    for model in admin.site._registry:
        if model._meta.app_label != label:
            continue
        for found in every_form.forms_of_pages(client, every_form.admin_pages(ours.rows, model)):
            entered = every_form.enter(found.form, ours.rows, model)
            assert_secrets_are_named(found)
            assert_is_kept(user, found, entered)
            assert_survives_an_error(client, found, entered)


@pytest.fixture
def project(db: None) -> Iterator[ReviewedProject]:  # noqa: ARG001  opens the database
    with open_reviewed_project(make_grant()) as project:
        yield project


def forms_of_the_console(project: ReviewedProject, client: Client) -> Iterator[FoundForm]:
    request = project.request()
    project.rule("create_*", "deny")
    known = {
        "project_id": project.row.pk,
        "rule_id": PolicyRule.objects.get().pk,
        "organization_id": project.grant.organization.pk,
        "request_id": request.pk,
        "name": "data_find_company",
    }
    for found in every_form.forms_of_pages(client, every_form.pages(known)):
        assert_secrets_are_named(found)
        if is_kept(found):
            yield found


def test_every_form_of_the_console_is_there_after_signing_in_again(
    project: ReviewedProject,
) -> None:
    user, client = project.member("boss", Role.ADMIN), Client()
    client.force_login(user)
    names = []
    for found in forms_of_the_console(project, client):
        assert_is_kept(user, found, every_form.enter(found.form, {}))
        names.append(found.name)
    assert len(names) > 10


def test_every_form_of_the_console_is_there_after_an_error(project: ReviewedProject) -> None:
    client = Client()
    client.force_login(project.member("boss", Role.ADMIN))
    for found in forms_of_the_console(project, client):
        assert_survives_an_error(client, found, every_form.enter(found.form, {}))

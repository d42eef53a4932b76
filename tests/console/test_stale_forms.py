"""No form of the admin or the console undoes what was changed since it was opened.

The forms are found: in the admin by its registry, in the console by its addresses.
"""

import html
import re
from collections.abc import Iterator
from typing import Any
from urllib.parse import urlencode

import pytest
from django.contrib import admin
from django.db.models import Model
from django.test import Client
from django.urls import NoReverseMatch, URLPattern, URLResolver, get_resolver, reverse

from agents.models import AgentDefinition, LanguageModel
from foundation.admin_urls import row_url
from foundation.stale_forms import FIELD
from gateway.models import PolicyRule, Project, ProjectTool
from gateway.rules.editing import MAX_RULES
from oauth.models import Client as OAuthClient
from tests.drivers.full_tenants import tenant
from tests.drivers.grants import make_grant
from tests.drivers.reviewed_project import ReviewedProject, open_reviewed_project
from tests.drivers.shown_forms import PageForm, forms_in, forms_of
from workspace.models import Membership, Role, User

MODELS = sorted(admin.site._registry, key=lambda model: model._meta.label)
# Models without a row here. Their pages are read-only.
WITHOUT_ROWS = {"mfa.authenticator", "oauth.idtoken"}
# Forms that show nothing of a row that others may change: they make something new, run something,
# are about the visitor's own account, or name what is to be done in words of their own.
MAKES_NEW = {
    *("ask_tool", "project_new", "server_keys", "api_keys", "agent_keys", "project_tokens"),
    *("personal_tokens", "service_clients", "service_client_credentials"),
    "approver_groups",
    *("account_change_password", "mfa_activate_totp", "account_reauthenticate"),
    *("mfa_reauthenticate", "mfa_reauthenticate_webauthn", "mfa_add_webauthn"),
    *("mfa_generate_recovery_codes", "mfa_deactivate_totp"),
}
# Forms of the console that show what others may change: how many each page has.
FORMS = {
    "project": 1,
    "project_settings": 1,
    "project_policy": 6,
    "project_policy_rule": 6,
}
INLINE = re.compile(r"^(\w+)-\d+-")
OF_DJANGO = ("csrfmiddlewaretoken", "opened_by", "_", FIELD)


def alterations(form: PageForm, section: str) -> Iterator[dict[str, list[str]]]:
    """The fields of a form with one of them changed by a person, in each of several ways."""
    # Pages of what holds already require one.
    reason = {"reason": ["A correction"]} if "reason" in form.fields else {}
    for name, kind in form.kinds.items():
        found = INLINE.match(name)
        if name.startswith(OF_DJANGO) or (found[1] if found else "") != section or kind == "hidden":
            continue
        if name.endswith("-DELETE"):
            continue
        now = form.fields.get(name, [])
        if kind in {"checkbox", "radio", "select", "multiple"}:
            others = [one for one in form.options.get(name, []) if one not in now and one]
            given = [[*others[:1]]] if others or kind == "checkbox" else []
        elif kind == "number" or (now and now[0].isdigit()):
            given = [[str(int(float(now[0] or 0)) + 1)]]
        else:
            given = [[f"{''.join(now)}x"]]
        for one in given:
            yield {**form.fields, **reason, name: one}


def fill_form(form: PageForm) -> PageForm:
    """The form of a new rule with what it requires: it is empty, so that it opens nothing."""
    if form.fields.get("effect") == [""]:
        form.fields |= {"pattern": ["x"], "effect": ["deny"]}
    return form


def sections(form: PageForm) -> list[str]:
    """The form itself, and each of its inlines that has a row."""
    rows = {
        found[1]
        for name in form.kinds
        if (found := INLINE.match(name)) and not name.startswith("__")
    }
    have = {one for one in rows if form.fields.get(f"{one}-INITIAL_FORMS", ["0"]) != ["0"]}
    return ["", *sorted(have)]


def form_at(client: Client, page: str) -> PageForm | None:
    found = [one for one in forms_of(client, page) if one.action == page]
    return next((one for one in found if FIELD in one.fields), None)


def superuser(name: str) -> Client:
    client = Client()
    client.force_login(User.objects.create_superuser(f"{name}@example.com"))
    return client


def assert_second_is_refused(first: Client, second: Client, page: str, section: str) -> bool:
    """Opens a form twice and saves one; returns whether any other value could be saved."""
    old = form_at(second, page)
    assert old is not None
    for changed in alterations(old, section):
        if first.post(page, changed).status_code == 302 and _differs(first, page, old):
            refused = second.post(page, old.fields)
            text = refused.content.decode()
            assert refused.status_code == 409, (page, section)
            assert "Nothing was saved" in text
            assert "first@example.com changed this" in text, (page, section)
            assert _differs(first, page, old), (page, section)
            return True
    return False


def _differs(client: Client, page: str, old: PageForm) -> bool:
    now = form_at(client, page)
    assert now is not None
    names = {name for name in (*now.fields, *old.fields) if not name.startswith(OF_DJANGO)}
    return any(old.fields.get(name) != now.fields.get(name) for name in names)


@pytest.mark.django_db
@pytest.mark.parametrize("model", MODELS, ids=lambda model: model._meta.label)
def test_v13_no_form_of_the_admin_undoes_what_was_changed_since_it_was_opened(
    model: type[Model],
) -> None:
    ours, first, second = tenant("ourorg"), superuser("first"), superuser("second")
    # The form of a client requires one.
    OAuthClient.objects.update(redirect_uris=["https://client.example/callback"])
    page = admin.site._registry[model]
    if model._meta.label_lower in WITHOUT_ROWS:
        request: Any = first.get("/admin/").wsgi_request
        assert not page.has_change_permission(request, model()), model
        return
    row = ours.rows.get(model) or model._default_manager.create(name="clerks")
    address = row_url(row)
    form = form_at(first, address)
    request = first.get(address).wsgi_request
    if not page.has_change_permission(request, row):
        assert form is None, address
        return
    assert form is not None, address
    for section in sections(form):
        assert assert_second_is_refused(first, second, address, section), (address, section)


def console_pages(known: dict[str, Any]) -> Iterator[tuple[str, str]]:
    """Name and address of every page of the console whose arguments are known."""
    for pattern in _patterns(get_resolver()):
        module = getattr(pattern.callback, "__module__", "")
        if pattern.name and (module.startswith("console") or "allauth" in module):
            taken = pattern.pattern.converters
            if set(taken) <= set(known):
                try:
                    yield pattern.name, reverse(pattern.name, kwargs={n: known[n] for n in taken})
                except NoReverseMatch:
                    continue


def _patterns(resolver: URLResolver) -> Iterator[URLPattern]:
    for one in resolver.url_patterns:
        if isinstance(one, URLResolver):
            yield from _patterns(one)
        else:
            yield one


@pytest.fixture
def project(db: None) -> Iterator[ReviewedProject]:  # noqa: ARG001  opens the database
    with open_reviewed_project(make_grant()) as project:
        project.rule("create_*", "deny")
        project.rule("delete_*", "deny")
        yield project


def browser(project: ReviewedProject, name: str) -> Client:
    client = Client()
    client.force_login(project.member(name, Role.ADMIN))
    return client


def known_arguments(project: ReviewedProject) -> dict[str, Any]:
    return {
        "project_id": project.row.pk,
        "rule_id": PolicyRule.objects.order_by("position").latest("position").pk,
        "organization_id": project.grant.organization.pk,
    }


def compared_forms(client: Client, page: str) -> list[PageForm]:
    """The forms of a page that have what they showed."""
    return [form for form in forms_of(client, page) if FIELD in form.fields]


def test_v13_every_form_of_the_console_that_others_may_change_has_what_it_showed(
    project: ReviewedProject,
) -> None:
    client, found = browser(project, "first"), dict[str, int]()
    for name, page in console_pages(known_arguments(project)):
        if name.endswith(("logout", "image")) or client.get(page).status_code != 200:
            continue
        for form in forms_of(client, page):
            shows = {n for n, kind in form.kinds.items() if kind not in {"hidden", "password"}}
            assert FIELD in form.fields or not shows or name in MAKES_NEW, (name, shows)
            if FIELD in form.fields:
                found[name] = found.get(name, 0) + 1
    assert found == FORMS


@pytest.mark.parametrize(
    ("name", "place"), [(name, place) for name, count in FORMS.items() for place in range(count)]
)
def test_v13_no_form_of_the_console_undoes_what_was_changed_since_it_was_opened(
    project: ReviewedProject, name: str, place: int
) -> None:
    first, second = browser(project, "first"), browser(project, "second")
    page = dict(console_pages(known_arguments(project)))[name]
    old = fill_form(compared_forms(second, page)[place])
    if not [*alterations(old, "")]:
        # Of buttons that act on the rules; another rule changes those.
        policy = forms_of(first, reverse("project_policy", args=[project.row.pk]))
        rule = next(one for one in policy if "pattern" in one.fields)
        entered = {**fill_form(rule).fields, "pattern": "x*"}
        assert first.post(rule.action, entered).status_code == 302
    else:
        assert any(has_changed(project, first, old, each) for each in alterations(old, "")), (
            old.action
        )
    before = state(project)
    refused = second.post(old.action, old.fields)
    text = refused.content.decode()
    assert refused.status_code == 409, old.action
    assert "first@example.com changed this" in text
    assert "Nothing was saved" in text
    assert state(project) == before


def has_changed(
    project: ReviewedProject, client: Client, form: PageForm, sent: dict[str, list[str]]
) -> bool:
    """Sends a form; returns whether that changed a row: a filter in it changes none."""
    before = state(project)
    return client.post(form.action, sent).status_code == 302 and state(project) != before


def state(project: ReviewedProject) -> list[Any]:
    row = type(project.row).objects.filter(pk=project.row.pk).values().get()
    return [
        # The lock of a policy writes the time.
        {name: value for name, value in row.items() if name != "updated_at"},
        *PolicyRule.objects.order_by("pk").values(),
        *PolicyRule.approvers.through._default_manager.order_by("pk").values(),
        *ProjectTool.objects.order_by("pk").values(),
    ]


def test_v13_the_page_that_refuses_shows_what_was_shown_what_is_now_and_what_was_sent(
    project: ReviewedProject,
) -> None:
    first, second = browser(project, "first"), browser(project, "second")
    page = reverse("project_policy", args=[project.row.pk])
    old = next(one for one in forms_of(second, page) if "approval_minutes" in one.fields)
    changed = {**old.fields, "reads": "deny"}
    assert first.post(old.action, changed).status_code == 302
    refused = second.post(old.action, {**old.fields, "approval_minutes": "90"})
    cells = re.findall(r"<t[dh] (?:scope=.row|data)[^>]*>([^<]*)</t", refused.content.decode())
    assert cells == ["Reads (GET and HEAD)", "Allow", "Deny", "Allow"]
    project.row.refresh_from_db()
    assert (project.row.reads, project.row.approval_minutes) == ("deny", 1_440)


@pytest.mark.parametrize(
    "shown",
    [
        None, "", "{", "[]", "null", '{"at": "2026-01-01T00:00:00Z"}', "[" * 9_999, '"\\ud800"',
        '{"at": "2026-01-01T00:00:00Z", "values": {"owner": ["\\u0000", "\\ud800", "9", {}]}}',
        '{"at": "2026-01-01", "values": {"name": "Users"}}', "1" * 9_999, "\x00",
    ],
)  # fmt: skip
def test_v13_a_form_that_does_not_say_what_it_showed_is_refused(
    project: ReviewedProject, shown: str | None
) -> None:
    client, page = browser(project, "boss"), reverse("project_settings", args=[project.row.pk])
    form = form_at(client, page)
    assert form is not None
    sent = {**form.fields, "name": "Renamed", FIELD: shown}
    refused = client.post(page, {name: value for name, value in sent.items() if value is not None})
    assert refused.status_code == 409
    text = refused.content.decode()
    if not shown or "values" not in shown or "01-01T" not in shown:
        assert "This page was opened before an update of the server. Nothing was saved." in text
        assert "<table" not in text
    project.row.refresh_from_db()
    assert project.row.name == "Users"


def test_v13_a_form_with_an_error_is_saved_once_the_error_is_corrected(
    project: ReviewedProject,
) -> None:
    client, page = browser(project, "boss"), reverse("project_settings", args=[project.row.pk])
    form = form_at(client, page)
    assert form is not None
    wrong = client.post(page, {**form.fields, "target_url": "no address", "name": "Renamed"})
    assert wrong.status_code == 400
    assert FIELD in wrong.content.decode()
    assert client.post(page, {**form.fields, "name": "Renamed"}).status_code == 302


def test_v13_what_was_entered_as_a_secret_is_on_no_page_that_refuses(db: None) -> None:  # noqa: ARG001  opens the database
    client, row = superuser("first"), tenant("ourorg").rows[LanguageModel]
    form = form_at(client, row_url(row))
    assert form is not None
    old = {**form.fields, "model": ["model-a"], "key": ["key-of-the-other-kind-7"]}
    LanguageModel.objects.filter(pk=row.pk).update(model="model-b")
    for shown in ({}, {FIELD: form.fields[FIELD]}):
        refused = client.post(
            row_url(row), {name: each for name, each in old.items() if name != FIELD} | shown
        )
        assert refused.status_code == 409
        assert "key-of-the-other-kind-7" not in refused.content.decode()
    assert "model-b" in refused.content.decode()


@pytest.mark.django_db
@pytest.mark.parametrize("model", [LanguageModel, AgentDefinition, Membership, Project])
def test_v13_a_second_click_on_save_in_the_admin_is_answered_as_the_first(
    model: type[Model],
) -> None:
    ours, client = tenant("ourorg"), superuser("first")
    address = row_url(ours.rows[model])
    form = form_at(client, address)
    assert form is not None
    for section in sections(form):
        old = form_at(client, address)
        assert old is not None
        changed = next(
            each
            for each in alterations(old, section)
            if client.post(address, each).status_code == 302 and _differs(client, address, old)
        )
        again = client.post(address, changed)
        assert (again.status_code, section) == (302, section)
        assert "changed successfully" in client.get(again["Location"]).content.decode()


def test_v13_a_second_click_on_save_in_the_console_is_answered_as_the_first(
    project: ReviewedProject,
) -> None:
    client = browser(project, "first")
    pages = dict(console_pages(known_arguments(project)))
    for name in ("project", "project_settings", "project_policy_rule"):
        old = next(one for one in compared_forms(client, pages[name]) if len(one.kinds) > 3)
        changed = next(
            each for each in alterations(old, "") if has_changed(project, client, old, each)
        )
        saved = state(project)
        again = client.post(old.action, changed)
        assert (again.status_code, name) == (302, name)
        assert "Saved." in client.get(again["Location"]).content.decode()
        assert state(project) == saved


def test_v13_a_second_click_adds_no_second_rule_and_moves_no_rule_twice(
    project: ReviewedProject,
) -> None:
    client, page = browser(project, "first"), reverse("project_policy", args=[project.row.pk])
    forms = compared_forms(client, page)
    new = next(one for one in forms if "pattern" in one.fields)
    entered = {**new.fields, "pattern": "list_*", "effect": "deny", "conditions": "/a  > 1"}
    assert [client.post(page, entered).status_code for _ in range(2)] == [302, 302]
    assert client.post(page, {**entered, "pattern": "read_*"}).status_code == 409
    assert patterns() == ["create_*", "delete_*", "list_*"]

    last = PolicyRule.objects.get(pattern="list_*")
    up = next(one for one in compared_forms(client, page) if f"{last.pk}/move" in one.action)
    moves = [client.post(up.action, {**up.fields, "to": "up"}).status_code for _ in range(2)]
    assert moves == [302, 302]
    assert patterns() == ["create_*", "list_*", "delete_*"]
    assert client.post(up.action, {**up.fields, "to": "down"}).status_code == 409


def test_v13_a_second_click_on_a_confirmation_is_answered_as_the_first(
    project: ReviewedProject,
) -> None:
    client, page = browser(project, "first"), reverse("project_policy", args=[project.row.pk])
    PolicyRule.objects.all().delete()
    new = next(one for one in compared_forms(client, page) if "pattern" in one.fields)
    asked = client.post(page, {**new.fields, "pattern": "delete_*", "effect": "allow"})
    assert "Nothing has been saved yet" in asked.content.decode()
    assert patterns() == []
    confirmed = next(one for one in forms_in(asked, page) if "confirmed" in one.fields)
    assert [client.post(page, confirmed.fields).status_code for _ in range(2)] == [302, 302]
    assert patterns() == ["delete_*"]


def test_v13_the_page_that_refuses_has_each_change_of_the_policy_since(
    project: ReviewedProject,
) -> None:
    first, second = browser(project, "first"), browser(project, "second")
    page = reverse("project_policy", args=[project.row.pk])
    old = next(one for one in compared_forms(second, page) if one.action.endswith("delete"))
    for pattern in ("list_*", "read_*"):
        new = next(one for one in compared_forms(first, page) if "pattern" in one.fields)
        entered = {**new.fields, "pattern": pattern, "effect": "deny"}
        assert first.post(page, entered).status_code == 302
    text = html.unescape(second.post(old.action, old.fields).content.decode())
    assert 'policy_changed: added 3. {"tools": "list_*", "effect": "deny"}' in text
    assert 'policy_changed: added 4. {"tools": "read_*", "effect": "deny"}' in text


def patterns() -> list[str]:
    return [*PolicyRule.objects.order_by("position").values_list("pattern", flat=True)]


@pytest.mark.parametrize(
    ("place", "button", "left"),
    [(2, "move", ["tool_1", "tool_0", "tool_2"]), (3, "delete", ["tool_0", "tool_2", "tool_3"])],
)
def test_v13_a_policy_with_many_long_rules_can_be_changed_on_its_page(
    project: ReviewedProject, settings: Any, place: int, button: str, left: list[str]
) -> None:
    settings.DATA_UPLOAD_MAX_MEMORY_SIZE = 50_000
    stored = [
        {"pointer": f"/field_{n}", "operator": "==", "value": f'"{n}" & more'} for n in range(40)
    ]
    PolicyRule.objects.all().delete()
    PolicyRule.objects.bulk_create(
        PolicyRule(
            project=project.row, position=n, pattern=f"tool_{n}", effect="deny", conditions=stored
        )
        for n in range(MAX_RULES)
    )
    client, page = browser(project, "first"), reverse("project_policy", args=[project.row.pk])
    shown = client.get(page)
    assert len(shown.content) < 1_500_000
    buttons = [one for one in forms_in(shown, page) if one.action.endswith(("/move", "/delete"))]
    assert len(buttons) == 2 * MAX_RULES
    assert buttons[place].action.endswith(button)
    body = urlencode({**buttons[place].fields, "to": "up"}, doseq=True)
    kind = "application/x-www-form-urlencoded"
    sent = client.post(buttons[place].action, body, content_type=kind)
    assert sent.status_code == 302
    assert patterns()[:3] == left

"""Projects with many tools: found by words, method and tag, switched together, chosen at import."""

import json
from typing import Any
from uuid import UUID

import pytest
from django.test import Client
from django.utils.html import escape

from gateway.models import Project, ProjectTool
from tests.drivers.billing import browser_of
from tests.drivers.grants import Grant
from tests.drivers.shown_forms import PageForm, forms_in
from workspace.models import Membership, Role, User

TAGS = ("books", "orders", "")


@pytest.fixture
def admin(grant: Grant) -> Client:
    user = User.objects.create_user("boss@example.com")
    Membership.objects.create(user=user, organization=grant.organization, role=Role.ADMIN)
    return browser_of(user)


@pytest.fixture
def project(grant: Grant) -> Project:
    """Six hundred tools: every third of a tag, every second a POST."""
    row = Project.objects.create(
        organization=grant.organization,
        name="Big ERP",
        owner=grant.user,
        target_url="https://api.example/v1",
    )
    ProjectTool.objects.bulk_create(
        ProjectTool(
            project=row,
            name=f"tool_{n:03}",
            key=f"{'POST' if n % 2 else 'GET'} /things/{n}",
            operation={"title": f"Thing {n}", "tags": [TAGS[n % 3]] if n % 3 < 2 else []},
            is_read=n % 2 == 0,
        )
        for n in range(600)
    )
    return row


def tools_form(response: Any, project: Project) -> PageForm:
    page = f"/projects/{project.pk}"
    return next(one for one in forms_in(response, page) if one.action == f"{page}/tools")


def names(response: Any) -> list[str]:
    return [tool.name for tool in response.context["tools"].paginator.object_list]


@pytest.mark.parametrize(
    ("query", "expected"),
    [
        ({"q": "tool_599"}, ["tool_599"]),
        ({"q": "THINGS/59 tool"}, ["tool_059", *(f"tool_{n}" for n in range(590, 600))]),
        ({"q": "Thing 123"}, ["tool_123"]),
        ({"q": "tool_12", "method": "POST"}, [f"tool_{n}" for n in (121, 123, 125, 127, 129)]),
        ({"q": "tool_12", "tag": "books"}, ["tool_120", "tool_123", "tool_126", "tool_129"]),
        ({"tag": "nonsense"}, []),
        ({"method": "PATCH"}, []),
        ({"q": "x\0y"}, []),
    ],
)
def test_tools_are_found_by_words_method_and_tag(
    admin: Client, project: Project, query: dict[str, str], expected: list[str]
) -> None:
    response = admin.get(f"/projects/{project.pk}", query)
    assert names(response) == expected
    assert f"{len(expected)} of 600 tools." in response.content.decode()


def test_all_tools_of_a_filter_are_switched_at_once_and_saved_with_one_press(
    admin: Client, project: Project
) -> None:
    """Six hundred changed tools pass no limit of fields: other pages are carried in one."""
    page = f"/projects/{project.pk}"
    form = tools_form(admin.get(page), project)
    switched = admin.post(form.action, {**form.fields, "bulk": "off"})
    assert "600 tools are changed and not saved yet." in switched.content.decode()
    assert not project.tools.filter(is_enabled=False).exists()
    form = tools_form(switched, project)
    assert sum(map(len, form.fields.values())) < 500
    assert admin.post(form.action, form.fields).status_code == 302
    assert not project.tools.filter(is_enabled=True).exists()
    assert {*project.tools.filter(is_read=True).values_list("name", flat=True)} == {
        f"tool_{n:03}" for n in range(0, 600, 2)
    }

    # Of a filter, on top of what was entered by hand on another page.
    form = tools_form(admin.get(page), project)
    by_hand = form.fields["shown"][1]
    found = admin.post(
        form.action, {**form.fields, "enabled": [by_hand], "page": "1", "q": "", "tag": "books"}
    )
    form = tools_form(found, project)
    switched = admin.post(form.action, {**form.fields, "bulk": "on"})
    form = tools_form(switched, project)
    opened = admin.post(form.action, form.fields)
    # What opens tools is confirmed first, with the same fields.
    (form,) = [one for one in forms_in(opened, form.action) if "confirmed" in one.fields]
    assert admin.post(form.action, form.fields).status_code == 302
    books = {f"tool_{n:03}" for n in range(0, 600, 3)}
    enabled = project.tools.filter(is_enabled=True).values_list("name", flat=True)
    assert {*enabled} == books | {"tool_001"}


def test_a_tool_that_another_admin_switched_meanwhile_is_not_switched_back_with_all_others(
    admin: Client, project: Project
) -> None:
    form = tools_form(admin.get(f"/projects/{project.pk}"), project)
    switched = tools_form(admin.post(form.action, {**form.fields, "bulk": "off"}), project)
    project.tools.filter(name="tool_500").update(is_read=False)
    refused = admin.post(switched.action, switched.fields)
    assert refused.status_code == 409
    assert "tool_500" in refused.content.decode()
    assert not project.tools.filter(is_enabled=False).exists()


def test_a_tool_that_another_admin_switched_before_the_next_page_is_not_switched_back(
    admin: Client, project: Project
) -> None:
    form = tools_form(admin.get(f"/projects/{project.pk}"), project)
    switched = form.fields["shown"][1]
    enabled = [key for key in form.fields["enabled"] if key != switched]
    project.tools.filter(pk=switched).update(is_read=True)
    moved = admin.post(form.action, {**form.fields, "enabled": enabled, "page": "2"})
    form = tools_form(moved, project)
    assert admin.post(form.action, form.fields).status_code == 409
    assert project.tools.get(pk=switched).is_enabled


def test_what_a_form_carries_is_read_or_ignored(admin: Client, project: Project) -> None:
    form = tools_form(admin.get(f"/projects/{project.pk}"), project)
    known = json.dumps({form.fields["shown"][0]: 5})
    forged = {str(UUID(int=number)): [0, 0, ""] for number in range(15_000)}
    too_many = json.dumps(forged, separators=(",", ":"))
    for carried in ("[1]", "{", '{"x": [1]}', known, "[" * 5_000, too_many):
        assert admin.post(form.action, {**form.fields, "carried": carried}).status_code == 302
    assert not project.tools.filter(is_enabled=False).exists()


def test_a_member_finds_tools_and_no_button_that_switches_them(
    grant: Grant, project: Project
) -> None:
    member = browser_of(grant.user)
    Membership.objects.filter(user=grant.user).update(role=Role.MEMBER)
    response = member.get(f"/projects/{project.pk}", {"q": "tool_59", "page": "1"})
    assert names(response) == [f"tool_{n}" for n in range(590, 600)]
    assert 'name="bulk"' not in response.content.decode()
    assert "csrfmiddlewaretoken" not in response.content.decode().partition('id="tool-q"')[2]


def document() -> dict[str, Any]:
    found = {"200": {"description": "Found."}}
    operations = [("/books", ["books"]), ("/orders", ["orders", "admin"]), ("/health", None)]
    return {
        "openapi": "3.1.0",
        "info": {"title": "Shop", "version": "1"},
        "servers": [{"url": "https://shop.example/v1"}],
        "paths": {
            **{
                path: {"get": {"responses": found, **({"tags": tags} if tags else {})}}
                for path, tags in operations
            },
            "/trace": {"trace": {"responses": found}},
        },
    }


def test_tools_of_the_chosen_tags_are_on_and_what_has_no_tool_is_said_in_full(
    admin: Client, grant: Grant
) -> None:
    given = {"organization": grant.organization.pk, "text": json.dumps(document())}
    page = admin.post("/projects/new", given, follow=True)
    address = str(page.redirect_chain[-1][0])
    shown = admin.get(address)
    text = shown.content.decode()
    unmapped = shown.context["imported"].unmapped
    assert unmapped
    for one in unmapped:
        assert escape(one.reason) in text
    assert '<details class="earlier" open>' in text
    (form,) = [one for one in forms_in(shown, address) if "target_url" in one.fields]
    assert form.fields["tags"] == ["admin", "books", "orders", ""]
    sent = {**form.fields, "tags": ["books", ""]}
    assert admin.post(address, sent).status_code == 302
    enabled = dict(ProjectTool.objects.values_list("key", "is_enabled"))
    assert enabled == {"GET /books": True, "GET /orders": False, "GET /health": True}
    found = admin.get(f"/projects/{Project.objects.get().pk}", {"tag": "admin"})
    assert [tool.key for tool in found.context["tools"]] == ["GET /orders"]

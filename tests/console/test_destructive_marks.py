"""Tools of projects that delete or undo something are marked wherever people see them."""

from dataclasses import replace

import pytest
from django.test import Client as Http

from foundation.admin_urls import row_url
from gateway.models import Project, ProjectTool
from gateway.openapi import names
from tests.console import markup
from tests.console.markup import Element
from tests.drivers import project_rows
from tests.drivers.grants import Grant, make_grant
from tests.drivers.oauth_client import Browser, OAuthClient
from tests.drivers.project_rows import DELETE_USER, LIST_USERS

MARK = "Destructive"
CREATE_USER = replace(
    DELETE_USER, key="POST /users", name="create_user", method="POST", path="/users"
)


@pytest.fixture
def grant(db: None) -> Grant:  # noqa: ARG001  opens the database
    return make_grant()


@pytest.fixture
def project(grant: Grant) -> Project:
    return project_rows.project(
        grant.organization, grant.user, LIST_USERS, DELETE_USER, CREATE_USER
    )


@pytest.fixture
def browser(grant: Grant) -> Http:
    client = Http()
    client.force_login(grant.user)
    return client


def find_marks(page: Element) -> list[str]:
    """The texts around each mark."""
    return [
        one.text
        for one in page.all("label") + page.all("p") + page.all("li")
        if any(badge.text == MARK for badge in one.children if isinstance(badge, Element))
    ]


def test_the_consent_page_marks_the_tools_that_delete(
    grant: Grant, project: Project, browser: Http
) -> None:
    assert browser is not None
    client = OAuthClient()
    assert client.register().status_code == 201
    resource = f"http://127.0.0.1:8000/{project.pk}"
    page = Browser(grant.user).open(client.authorize_address(resource=resource, scope=""))
    (only,) = find_marks(markup.read(page.content))
    assert only == f"delete_user projects:{project.pk}:delete_user {MARK}"
    assert "This includes calls of tools marked as destructive." in page.content.decode()


def test_the_page_of_a_project_marks_them(project: Project, browser: Http) -> None:
    page = markup.read(browser.get(f"/projects/{project.pk}").content)
    assert find_marks(page) == [f"delete_user {MARK}"]


def test_the_connection_of_a_project_does_not_promise_that_nothing_is_destroyed(
    grant: Grant, project: Project, browser: Http
) -> None:
    address = f"/connections/{grant.authorization.pk}"
    promise = "Destructive actions such as refunds and deletions are never allowed."
    assert promise in browser.get(address).content.decode()
    grant.narrow(f"projects:{project.pk}:delete_user")
    page = browser.get(address).content.decode()
    assert promise not in page
    assert "also of tools marked as destructive" in page
    assert MARK in page


def test_the_list_in_the_admin_names_them(project: Project, browser: Http) -> None:
    page = browser.get("/admin/gateway/projecttool/").content.decode()
    assert page.count("icon-yes") > 0
    rows = {row.name: row.is_destructive for row in ProjectTool.objects.all()}
    assert rows == {"list_users": False, "delete_user": True, "create_user": False}
    assert row_url(project.tools.get(name="delete_user")) in page


@pytest.mark.parametrize(
    ("method", "name", "is_read", "is_marked"),
    [
        ("DELETE", "drop_it", False, True),
        ("delete", "users_one", False, True),
        # The method says more than the box “Only reads”.
        ("DELETE", "users_one", True, True),
        ("POST", "cancelOrder", False, True),
        ("POST", "orders.refund", False, True),
        ("POST", "create_order", False, False),
        ("POST", "search_refunds", True, False),
        ("GET", "list_refunds", True, False),
    ],
)
def test_a_tool_is_marked_by_its_method_and_by_its_name(
    method: str, name: str, *, is_read: bool, is_marked: bool
) -> None:
    assert names.is_destructive(method, name, is_read=is_read) is is_marked

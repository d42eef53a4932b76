"""People as an admin writes them down."""

import pytest
from django.test import Client

from foundation.admin_urls import row_url
from tests.console import markup
from workspace import organizations
from workspace.models import User

PASSWORD = "a long enough passphrase"


@pytest.fixture
def admin(client: Client, db: None) -> Client:  # noqa: ARG001  asked for: it opens the database
    client.force_login(User.objects.create_superuser("root@example.com"))
    return client


def test_an_address_typed_in_capitals_signs_in(admin: Client) -> None:
    new = {"email": "Bob@Example.com", "usable_password": "true", "password1": PASSWORD}
    memberships = {"memberships-TOTAL_FORMS": "0", "memberships-INITIAL_FORMS": "0"}
    answer = admin.post("/admin/workspace/user/add/", {**new, "password2": PASSWORD, **memberships})
    assert answer.status_code == 302, answer.content.decode()

    assert User.objects.filter(email="bob@example.com").exists()
    signed_in = Client().post("/signin", {"login": "Bob@Example.com", "password": PASSWORD})
    assert signed_in.status_code == 302


def test_ux_8_every_field_of_a_membership_on_the_page_of_a_person_has_a_name(
    admin: Client,
) -> None:
    person = User.objects.create_user("ada@example.com")
    organizations.create("Acme", owner=person)
    page = markup.read(admin.get(row_url(person)).content)
    fields = [
        one
        for one in page.one("div", id="memberships-group")
        if one.tag in {"select", "input"} and one.attributes.get("type") != "hidden"
    ]
    assert {"memberships-0-role", "memberships-0-DELETE"} <= {
        one.attributes["name"] for one in fields
    }
    assert [one.attributes["name"] for one in fields if "aria-label" not in one.attributes] == []

"""People as an admin writes them down."""

import pytest
from django.test import Client

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

"""When authorizations and clients were last used, in the admin, and the filter by it."""

from datetime import timedelta

import pytest
from django.test import Client
from django.utils import timezone

from audit.models import ActionExecution
from foundation.admin_urls import model_url
from oauth.models import Authorization
from oauth.models import Client as OAuthClient
from tests.audit import calls
from tests.drivers.grants import Grant, make_grant
from tests.drivers.statements import record_statements
from workspace.models import Role, User

USES = {"recent": 2, "earlier": 20, "long ago": 200}


@pytest.fixture
def root(db: None) -> Client:  # noqa: ARG001  opens the database
    browser = Client()
    browser.force_login(User.objects.create_superuser("root@example.com"))
    return browser


@pytest.fixture
def grants(db: None) -> dict[str, Grant]:  # noqa: ARG001  opens the database
    made = {name: make_grant(client_name=name) for name in (*USES, "never")}
    for name, days in USES.items():
        for age in (days, days + 300):
            calls.put(
                timezone.now() - timedelta(days=age),
                authorization_id=str(made[name].authorization.pk),
                client_id=made[name].client.client_id,
            )
    return made


@pytest.mark.usefixtures("grants")
@pytest.mark.parametrize("model", [Authorization, OAuthClient])
@pytest.mark.parametrize(
    ("used", "expected"),
    [
        ("7", {"recent"}),
        ("30", {"recent", "earlier"}),
        ("not-30", {"long ago", "never"}),
        ("not-90", {"long ago", "never"}),
        ("nonsense", {"recent", "earlier", "long ago", "never"}),
    ],
)
def test_a_list_is_filtered_by_the_last_request_on_record(
    root: Client, model: type[Authorization | OAuthClient], used: str, expected: set[str]
) -> None:
    rows = root.get(model_url(model), {"used": used}).context["cl"].result_list
    found = {row.name if isinstance(row, OAuthClient) else row.client.name for row in rows}
    assert found == expected


def test_the_list_shows_the_newest_request_and_reads_one_entry_for_each_row(
    root: Client, grants: dict[str, Grant]
) -> None:
    newest = ActionExecution.objects.filter(
        authorization_id=str(grants["recent"].authorization.pk)
    ).latest("started_at")
    with record_statements() as received:
        page = root.get(model_url(Authorization)).content.decode()
    assert newest.started_at.isoformat(timespec="seconds") in page
    assert sum("action_executions" in one.sql for one in received) == 1


def test_an_admin_does_not_see_when_others_used_a_client_that_they_share(
    grants: dict[str, Grant],
) -> None:
    grant = grants["recent"]
    grant.membership.role = Role.ADMIN
    grant.membership.save()
    browser = Client()
    browser.force_login(grant.user)
    page = browser.get(model_url(OAuthClient)).content.decode()
    assert "recent" in page
    assert "last used" not in page.lower()
    listed = browser.get(model_url(Authorization), {"used": "7"}).context["cl"].result_list
    assert [row.client.name for row in listed] == ["recent"]

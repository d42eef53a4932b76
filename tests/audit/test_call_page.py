"""The page of one call: what happened, how to fix it, who did it, with what."""

import re
from datetime import UTC, datetime, timedelta
from html import unescape
from uuid import uuid4

import pytest
from django.test import Client

from audit.models import ActionExecution
from audit.reasons import REASONS
from foundation.admin_urls import row_url
from tests.audit import calls
from tests.docs.doc_pages import table, words
from workspace.models import Organization, User

NOW = datetime(2026, 11, 22, 12, 0, 0, tzinfo=UTC)


@pytest.fixture
def root(client: Client, db: None) -> Client:  # noqa: ARG001  a fixture
    client.force_login(User.objects.create_superuser("root@example.com"))
    return client


def page_text(http: Client, row: ActionExecution) -> str:
    """The words of the page behind its sidebar, without markup."""
    content = http.get(row_url(row)).content.decode()
    main = content.partition('id="content-start"')[2]
    return " ".join(unescape(re.sub(r"<[^>]+>", " ", main)).split())


def test_a_refusal_begins_with_what_was_missing_and_how_to_fix_it(root: Client) -> None:
    row = calls.put(
        NOW,
        tool="stripe.request_refund",
        integration="stripe",
        action="request_refund",
        outcome="refused",
        reason="scope_denied",
        layer="scope",
    )
    page = page_text(root, row)

    assert "Refused: The token lacks actions:stripe:request_refund." in page
    assert (
        "How to fix it: Ask the user to reconnect and approve actions:stripe:request_refund."
        in page
    )


def test_the_page_names_who_with_links_and_how_long(root: Client) -> None:
    place = Organization.objects.create(name="Acme", slug="acme", widget_key="acme")
    person = User.objects.create_user("ada@acme.example")
    row = calls.put(
        NOW,
        organization_id=str(place.pk),
        user_id=str(person.pk),
        user_email=person.email,
        client_id="client-1",
        client_name="Claude",
        surface="workspace",
        duration_us=1_234_567,
    )
    content = root.get(row_url(row)).content.decode()
    assert "?surface=workspace" in content

    assert f'<a href="{row_url(place)}">Acme</a>' in content
    assert f'<a href="{row_url(person)}">ada@acme.example</a>' in content
    assert '<a href="/admin/audit/actionexecution/?client=client-1">Claude</a>' in content
    assert "1,234.6 ms" in content
    assert "Granted by (address then)" not in content


def test_what_a_row_does_not_hold_is_not_shown(root: Client) -> None:
    page = page_text(root, calls.put(NOW))
    for label in ("Customer", "Integration", "Refused by", "Rows returned", "How to fix it"):
        assert label not in page
    assert "Arguments None." in page


def test_arguments_are_shown_as_indented_json(root: Client) -> None:
    row = calls.put(NOW, arguments={"charge": "<ch_1>", "amount": 2001})
    content = root.get(row_url(row)).content.decode()
    shown_json = unescape(content.partition("<pre")[2].partition(">")[2].partition("</pre>")[0])
    assert shown_json == '{\n  "amount": 2001,\n  "charge": "<ch_1>"\n}'


def test_arguments_too_large_to_store_are_shown_as_length_and_digest(root: Client) -> None:
    omitted = {"bytes": 123456, "sha256": "ab" * 32}
    row = calls.put(NOW, arguments={"omitted": omitted, "kept": {"title": "Export hangs"}})
    page = page_text(root, row)

    assert "too large to store" in page
    assert "123,456 bytes" in page
    assert "ab" * 32 in page
    assert '"title": "Export hangs"' in page


def test_the_latest_ten_other_calls_of_the_connection_are_listed(root: Client) -> None:
    connection = str(uuid4())
    rows = [
        calls.put(
            NOW + timedelta(seconds=number), authorization_id=connection, tool=f"tool_{number}"
        )
        for number in range(14)
    ]
    calls.put(NOW, authorization_id=str(uuid4()), tool="foreign")
    page = page_text(root, rows[13]).partition("Other calls of this connection")[2]

    listed = [number for number in range(14) if re.search(rf"(?<!mcp:)\btool_{number}\b", page)]
    assert listed == list(range(3, 13))
    assert "foreign" not in page


def test_every_reason_of_the_documentation_has_an_explanation() -> None:
    listed = words([row[0] for row in table("audit-log", "Reasons")])
    assert set(listed) - {"rpc_", "rpc_32601"} == set(REASONS)


@pytest.mark.parametrize("reason", REASONS)
def test_an_explanation_leaves_no_name_open(root: Client, reason: str) -> None:
    page = page_text(root, calls.put(NOW, outcome="refused", reason=reason, integration="stripe"))
    assert "{" not in page.partition("Arguments")[0]
    assert re.search(r"Refused: \w.*\.", page)

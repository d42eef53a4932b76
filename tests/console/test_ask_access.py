"""“Ask your organization”: who may call what, what is recorded, and which limits count."""

from typing import Any

import pytest
from django.test import Client as Http
from django.utils import timezone

from audit.models import ActionExecution, SecurityEvent
from console.ask import calling
from foundation import ids
from foundation.admin_urls import row_url
from foundation.limits import Limit
from tests.console.asking import ask, ask_path, browser_of, call, form_fields, problem, shown_json
from tests.console.markup import read as markup
from tests.drivers.data_tools import TOOLS, required_arguments, widest
from tests.drivers.grants import Grant, make_grant
from tests.drivers.mcp import McpClient
from tests.drivers.records import Records
from tools_registry.api import Tool
from workspace.models import Organization, User

each_tool = pytest.mark.parametrize("tool", TOOLS, ids=lambda tool: tool.name)


def test_a_stranger_signs_in_first(grant: Grant) -> None:
    for address in ("/ask", ask_path(grant), ask_path(grant, "search_docs")):
        page = Http().get(address)
        assert page.status_code == 302
        assert page["Location"].startswith("/signin?next=")


def test_a_call_is_recorded_as_that_of_the_person(
    person: Http, grant: Grant, records: Records
) -> None:
    status, page = ask(person, grant, "data_find_user", user=records.customers[0].pk)
    assert status == 200
    row, user = call(), User.objects.get(email="member@example.com")
    assert (row.actor_kind, row.surface, row.method) == ("person", "console", "tools/call")
    assert (row.user_id, row.user_email) == (str(user.pk), user.email)
    assert row.organization_id == str(grant.organization.pk)
    assert (row.client_id, row.authorization_id, row.token_id) == ("", "", "")
    assert row.arguments == {"user": records.customers[0].pk}
    assert row.address == "127.0.0.1"
    assert row.request_id
    listed = browser_of(grant.user).get("/admin/audit/actionexecution/?actor=person")
    assert "data_find_user" in listed.content.decode()
    opened = browser_of(grant.user).get(row_url(row))
    assert "Person" in opened.content.decode()
    assert page.one("h2", id="answer-title").text == "Answer"


@each_tool
def test_rows_of_another_organization_are_not_in_an_answer(grant: Grant, tool: Tool) -> None:
    theirs = Records(make_grant(), word="zanzibar").add()
    mine = Records(grant).add()
    browser = browser_of(grant.user)
    page = browser.post(ask_path(grant, tool.name), form_fields(widest(tool, mine)))
    assert page.status_code == 200
    assert b"zanzibar" not in page.content
    named = required_arguments(tool, theirs)
    ids = {name: value for name, value in named.items() if name.endswith("_id")}
    if ids:
        assert browser.post(ask_path(grant, tool.name), form_fields(named)).status_code == 404


def test_another_organization_is_like_one_that_does_not_exist(person: Http, grant: Grant) -> None:
    theirs, random = make_grant(), "01890000-0000-7000-8000-000000000000"
    for path in ("", "/search_docs"):
        pages = [person.get(f"/ask/{one}{path}") for one in (theirs.organization.pk, random)]
        assert [page.status_code for page in pages] == [404, 404]
        assert len({markup(page.content).text for page in pages}) == 1
    assert (
        person.post(ask_path(theirs, "search_docs"), form_fields({"query": "x"})).status_code == 404
    )
    assert person.get(ask_path(grant, "no_such_tool")).status_code == 404
    assert not ActionExecution.objects.exists()


@pytest.mark.parametrize("end", ["left", "deactivated", "suspended"])
def test_who_has_left_asks_nothing_from_the_next_request_on(
    person: Http, grant: Grant, end: str
) -> None:
    user = User.objects.get(email="member@example.com")
    assert ask(person, grant, "search_docs", query="scopes")[0] == 200
    if end == "left":
        user.memberships.all().delete()
    elif end == "deactivated":
        User.objects.filter(pk=user.pk).update(is_active=False)
    else:
        Organization.objects.update(suspended_at=timezone.now())
    page = person.post(ask_path(grant, "search_docs"), form_fields({"query": "scopes"}))
    assert page.status_code == (302 if end == "deactivated" else 404)
    assert ActionExecution.objects.count() == 1


@pytest.mark.usefixtures("lab")
def test_the_layers_of_the_gate_refuse_with_a_sentence(person: Http, grant: Grant) -> None:
    def get_refusal() -> tuple[str, str]:
        assert person.get(ask_path(grant, "crm.find_contact")).status_code == 403
        status, page = ask(person, grant, "crm.find_contact")
        assert status == 403
        assert "crm.find_contact" not in str(person.get(ask_path(grant)).content)
        row = ActionExecution.objects.order_by("-pk")[0]
        return row.layer, problem(page)

    assert get_refusal() == ("connection", "CRM is not connected.")
    grant.connect("crm", actions_on=False)
    assert get_refusal()[0] == "integration"
    grant.connect("crm", enabled=("create_deal",))
    assert get_refusal()[0] == "agent"
    grant.connect("crm", enabled=("find_contact", "create_deal"))
    status, page = ask(person, grant, "crm.find_contact")
    assert (status, shown_json(page)) == (200, {"contact": "c1"})
    assert markup(person.get(ask_path(grant)).content).all("h2")[-1].text == "CRM"
    grant.switch_off("mcp_server")
    assert get_refusal()[0] == "flag"
    assert "turned off" in person.get(ask_path(grant)).content.decode()


@pytest.mark.usefixtures("lab")
@pytest.mark.parametrize("tool", ["crm.create_deal", "crm.delete_contact"])
def test_a_tool_that_changes_something_is_not_offered_and_does_not_run(
    person: Http, grant: Grant, tool: str
) -> None:
    grant.connect("crm", enabled=("create_deal", "delete_contact"))
    assert tool not in person.get(ask_path(grant)).content.decode()
    form = person.get(ask_path(grant, tool))
    assert form.status_code == 403
    assert "Only tools that read" in form.content.decode()
    status, page = ask(person, grant, tool)
    assert (status, "Only tools that read" in problem(page)) == (403, True)
    assert (call().outcome, call().layer, call().reason) == ("refused", "read_only", "read_only")
    opened = browser_of(grant.user).get(row_url(call()))
    assert "only reads" in opened.content.decode()


def test_a_person_over_the_limit_waits(person: Http, grant: Grant, settings: Any) -> None:
    settings.HALO_RATE_TOOLS_CALL = Limit.parse("2/h")
    statuses = [ask(person, grant, "search_docs", query="scopes")[0] for _ in range(4)]
    assert statuses == [200, 200, 429, 429]
    page = person.post(ask_path(grant, "search_docs"), form_fields({"query": "scopes"}))
    assert int(page["Retry-After"]) > 0
    assert "Too many calls" in problem(markup(page.content))
    assert ActionExecution.objects.count() == 2
    assert SecurityEvent.objects.get(kind="rate_limited").detail == "ask"
    assert ask(browser_of(grant.user), grant, "search_docs", query="scopes")[0] == 200


def test_the_cap_of_the_organization_counts_people_and_clients_together(
    person: Http, grant: Grant, mcp: McpClient
) -> None:
    Organization.objects.update(calls_per_minute=2)
    assert mcp.call("search_docs", {"query": "scopes"}).status == 200
    assert ask(person, grant, "search_docs", query="scopes")[0] == 200
    assert ask(person, grant, "search_docs", query="scopes")[0] == 429


def test_a_call_needs_a_csrf_token_and_a_post(grant: Grant) -> None:
    browser = browser_of(grant.user, enforce_csrf_checks=True)
    assert (
        browser.post(ask_path(grant, "search_docs"), form_fields({"query": "x"})).status_code == 403
    )
    assert browser.get(f"{ask_path(grant, 'search_docs')}?arg.query=scopes").status_code == 200
    assert browser_of(grant.user).put(ask_path(grant, "search_docs")).status_code == 405
    assert not ActionExecution.objects.exists()


def test_the_membership_is_no_bearer(grant: Grant) -> None:
    for secret in (str(grant.membership.pk), f"membership{'a' * 43}"):
        assert McpClient(secret).call("search_docs", {"query": "x"}).status == 401


def test_a_person_has_one_call_in_progress(grant: Grant) -> None:
    person = browser_of(grant.user)
    with calling._calls.hold(ids.text(grant.user.pk)):
        status, page = ask(person, grant, "data_query_metrics")
    assert (status, "Another call is in progress" in problem(page)) == (503, True)
    assert ask(person, grant, "data_query_metrics")[0] == 200

"""Agents that an organization defines in the admin."""

from typing import Any

import pytest
from django.test import Client

from agents.models import AgentDefinition
from audit.models import SecurityEvent
from foundation.admin_urls import row_url
from tests.agents import application
from tests.agents.application import Application, says
from tests.drivers.shown_forms import save
from workspace import organizations
from workspace.models import User

pytestmark = pytest.mark.django_db
PAGE = "/admin/agents/agentdefinition/"


def form(app: Application, **given: Any) -> dict[str, Any]:
    return {
        "organization": app.organization.pk,
        "name": "support-agent",
        "title": "Support",
        "version": "1.2.0",
        "description": "Helps.",
        "instructions": "Be short.",
        "tools": ["search_docs"],
        "is_enabled": "on",
        "max_steps": "10",
        "max_tool_calls": "40",
        "max_tokens": "200000",
        "max_seconds": "300",
        "options-TOTAL_FORMS": "0",
        "options-INITIAL_FORMS": "0",
    } | given


def add(browser: Client, app: Application, **given: Any) -> AgentDefinition:
    answer = browser.post(f"{PAGE}add/", form(app, **given))
    assert answer.status_code == 302, answer.context["adminform"].form.errors
    return AgentDefinition.objects.get(organization=app.organization)


def list_agents(app: Application) -> dict[str, Any]:
    return {agent["name"]: agent for agent in app.send("GET", "/meta").json["agents"]}


def test_an_application_uses_an_agent_of_its_organization(
    browser: Client, app: Application
) -> None:
    add(browser, app)
    agent = list_agents(app)["support-agent"]
    assert (agent["title"], agent["version"]) == ("Support", "1.2.0")
    assert [tool["name"] for tool in agent["tools"]] == ["search_docs"]
    answer = app.create(agent="support-agent", server_tools={"search_docs": True})
    assert answer.stop_reason == "end_turn"
    refused = app.create(agent="support-agent", server_tools={"setup_get_jwt_sample": True})
    assert (refused.status, "no tool" in refused.error) == (400, True)


def test_without_tools_it_has_none_and_all_of_them_are_a_choice(
    browser: Client, app: Application
) -> None:
    row = add(browser, app, tools=[])
    assert list_agents(app)["support-agent"]["tools"] == []
    refused = app.create(agent="support-agent", server_tools={"search_docs": True})
    assert (refused.status, "no tool" in refused.error) == (400, True)
    both = save(browser, row_url(row), form(app, has_all_tools="on"))
    assert {*both.context["adminform"].form.errors} == {"tools"}
    save(browser, row_url(row), form(app, tools=[], has_all_tools="on"))
    agents = list_agents(app)
    assert agents["support-agent"]["tools"] == agents["ask-ai"]["tools"] != []


def test_another_organization_does_not_have_it(browser: Client, app: Application) -> None:
    add(browser, app)
    stranger = User.objects.create_user("stranger@example.com")
    other = application.with_key(organizations.create("Strangers", owner=stranger))
    assert "support-agent" not in list_agents(other)
    assert other.create(agent="support-agent").status == 400


def test_limits_hold_from_the_next_turn_on(browser: Client, app: Application) -> None:
    row = add(browser, app)
    tools = {"search_docs": True}
    session_id = app.create(agent="support-agent", server_tools=tools).session_id
    save(browser, row_url(row), form(app, max_tool_calls="0"))
    answer = app.turn(session_id, says("And now?"))
    assert (answer.stop_reason, "tool calls" in answer.json["error"]) == ("error", True)


def test_a_disabled_agent_takes_no_turn_and_its_sessions_can_be_read(
    browser: Client, app: Application
) -> None:
    row = add(browser, app)
    session_id = app.create(agent="support-agent").session_id
    save(browser, row_url(row), form(app, is_enabled=""))
    assert "support-agent" not in list_agents(app)
    assert app.turn(session_id, says("And now?")).status == 409
    assert app.send("GET", f"/session/{session_id}").status == 200
    assert app.send("DELETE", f"/session/{session_id}").status == 204


@pytest.mark.parametrize(
    ("given", "field"),
    [
        ({"name": "ask-ai"}, "name"),
        ({"name": "Support Agent"}, "name"),
        ({"name": "support-"}, "name"),
        ({"version": "one"}, "version"),
        ({"tools": ["no_such_tool"]}, "tools"),
        ({"instructions": ""}, "instructions"),
        ({"instructions": "x" * 50_001}, "instructions"),
        ({"max_steps": "0"}, "max_steps"),
        ({"max_seconds": "100000"}, "max_seconds"),
    ],
    ids=lambda given: str(given)[:40],
)
def test_what_cannot_be_is_an_error_of_its_field(
    browser: Client, app: Application, given: dict[str, Any], field: str
) -> None:
    answer = browser.post(f"{PAGE}add/", form(app, **given))
    assert answer.status_code == 200
    assert {*answer.context["adminform"].form.errors} == {field}
    assert not AgentDefinition.objects.exists()


def test_changes_and_deletions_are_recorded(browser: Client, app: Application) -> None:
    row = add(browser, app)
    twice = browser.post(f"{PAGE}add/", form(app))
    assert "an agent of this name" in str(twice.context["adminform"].form.errors)
    save(browser, row_url(row), form(app, title="Help"))
    browser.post(row_url(row, "delete"), {"post": "yes"})
    events = SecurityEvent.objects.filter(kind="agent_definition_changed", subject=str(row.pk))
    assert {*events.values_list("detail", flat=True)} == {
        *("support-agent: added", "support-agent: title", "support-agent: deleted"),
    }

"""“Ask your organization”: forms made from schemas, and answers that people can read."""

import json
import re
import shlex
from typing import Any

import pytest
from django.test import Client as Http

from tests.console.asking import (
    ask,
    ask_path,
    browser_of,
    call,
    control,
    form_fields,
    problem,
    shown_json,
)
from tests.console.markup import read as markup
from tests.drivers.data_tools import BUILT_IN, TOOLS, widest
from tests.drivers.grants import Grant
from tests.drivers.mcp import send_in_process
from tests.drivers.records import Records
from tools_registry.api import Tool
from workspace import organizations
from workspace.models import User

each_tool = pytest.mark.parametrize("tool", TOOLS, ids=lambda tool: tool.name)


def test_one_organization_opens_at_once_and_the_data_tools_come_first(
    person: Http, grant: Grant
) -> None:
    page = person.get("/ask", follow=True)
    assert page.redirect_chain == [(ask_path(grant), 302)]
    assert "no-store" in page["Cache-Control"]
    tree = markup(page.content)
    assert [one.text for one in tree.all("h2")] == ["Organization data", "Documentation", "Setup"]
    links = [one.attributes["href"] for one in tree.all("a", class_="tile")]
    assert sorted(links) == [ask_path(grant, name) for name in sorted(BUILT_IN)]
    assert all("data_" in link for link in links[: len(TOOLS)])
    assert grant.organization.name in tree.text
    assert tree.all("a", class_="ask-change") == []


def test_a_person_in_two_organizations_chooses_and_sees_which_is_asked(grant: Grant) -> None:
    other = organizations.create("Zebra <b>", owner=grant.user)
    browser = browser_of(grant.user)
    text = markup(browser.get("/ask").content).text
    assert grant.organization.name in text
    assert "Zebra <b>" in text
    page = browser.get(f"/ask/{other.pk}/search_docs")
    tree = markup(page.content)
    assert tree.one("strong", class_="ask-organization").text == "Zebra <b>"
    assert tree.one("a", class_="ask-change").attributes["href"] == "/ask"


def test_a_person_without_an_organization_is_shown_what_to_do(db: None) -> None:  # noqa: ARG001  opens the database
    browser = browser_of(User.objects.create_user("nobody@example.com"))
    page = browser.get("/ask")
    assert page.status_code == 200
    assert "You have no active membership of an organization." in page.content.decode()


@each_tool
def test_every_data_tool_has_a_form_that_is_answered(
    person: Http, grant: Grant, records: Records, tool: Tool
) -> None:
    form = markup(person.get(ask_path(grant, tool.name)).content)
    named = [one for one in tool.input_schema["properties"] if one != "cursor"]
    entered = {}
    for name in named:
        field = control(form, name)
        entered[name] = field.attributes.get("value", "")
        if field.tag == "select":
            entered[name] = next(
                (
                    one.attributes["value"]
                    for one in field.all("option")
                    if "selected" in one.attributes
                ),
                "",
            )
    # What a browser sends: every field, with its default.
    status, page = ask(person, grant, tool.name, **entered | widest(tool, records))
    assert status == 200, page.text
    assert shown_json(page)["as_of"]
    assert call().outcome == "success"


def test_a_field_follows_its_schema(person: Http, grant: Grant) -> None:
    page = markup(person.get(ask_path(grant, "data_search_companies")).content)
    query, size = control(page, "query"), control(page, "page_size")
    assert (query.attributes["minlength"], query.attributes["maxlength"]) == ("1", "200")
    assert {name: size.attributes[name] for name in ("type", "min", "max", "step", "value")} == {
        "type": "number",
        "min": "1",
        "max": "50",
        "step": "1",
        "value": "10",
    }
    assert control(page, "min_mrr").attributes["step"] == "any"
    sort = [one.attributes["value"] for one in control(page, "sort").all("option")]
    (tool,) = (one for one in TOOLS if one.name == "data_search_companies")
    assert sort == tool.input_schema["properties"]["sort"]["enum"]
    assert sort[0] == "mrr_desc"
    group = control(page, "group_by").all("option")
    assert (group[0].attributes["value"], group[0].text) == ("", "Not set")
    hint = page.one("div", id=query.attributes["aria-describedby"])
    assert hint.text == "All of these words; quotes for a phrase."
    ticket = markup(person.get(ask_path(grant, "data_get_ticket")).content)
    assert "required" in control(ticket, "ticket_id").attributes


def test_items_are_a_table_and_the_next_page_continues(
    person: Http, grant: Grant, records: Records
) -> None:
    _, first = ask(person, grant, "data_search_tickets", page_size="2", sort="created_at_asc")
    table = first.one("table")
    assert table.all("th")[:2][1].text == "Subject"
    assert len(table.one("tbody").all("tr")) == 2
    (more,) = [one for one in first.all("form") if one.all("input", name="arg.cursor")]
    hidden = {
        one.attributes["name"]: one.attributes["value"]
        for one in more.all("input", type="hidden")
        if one.attributes["name"] != "csrfmiddlewaretoken"
    }
    assert hidden["arg.page_size"] == "2"
    second = markup(person.post(more.attributes["action"], hidden).content)
    seen = [item["id"] for page in (first, second) for item in shown_json(page)["items"]]
    assert sorted(seen) == sorted(ticket.pk for ticket in records.tickets)
    assert second.all("input", name="arg.cursor") == []
    assert second.all("a", href=ask_path(grant)) != []


def test_nested_values_names_and_nothing_are_readable(
    person: Http, grant: Grant, records: Records
) -> None:
    ticket = records.tickets[0]
    _, page = ask(person, grant, "data_get_ticket", ticket_id=ticket.pk)
    records_shown = " ".join(one.text for one in page.all("dl", class_="ask-record"))
    assert ticket.subject in records_shown
    assert str(ticket.customer) in records_shown
    assert ticket.customer_id in [one.text for one in page.all("code", class_="ask-id")]
    _, empty = ask(person, grant, "data_search_tickets", query="nothing like this")
    assert shown_json(empty)["items"] == []
    assert "None" in empty.text
    assert empty.all("p", class_="alert") != []


def test_text_of_customers_is_escaped(person: Http, grant: Grant) -> None:
    grant.customer(external_id="x", name="<script>alert(1)</script>", email="x@x.example")
    page = person.post(ask_path(grant, "data_search_users"), form_fields({}))
    assert b"<script>alert" not in page.content
    assert "&lt;script&gt;alert(1)" in page.content.decode()


def test_the_command_makes_the_same_call(person: Http, grant: Grant) -> None:
    word = 'it\'s "onboarding" $(id) `id` \\ \N{SNOWMAN}'
    _, page = ask(person, grant, "data_search_tickets", query=word, status="open")
    command = person.post(
        ask_path(grant, "data_search_tickets"), form_fields({"query": word, "status": "open"})
    ).context["curl"]
    assert page.one("pre", id="curl").text
    words = shlex.split(command.replace("\\\n", ""))
    assert words[:3] == ["curl", "-sS", "http://127.0.0.1:8000/api/mcp"]
    assert "Authorization: Bearer $TOKEN" in words
    assert grant.token() not in command
    headers = dict(
        re.split(": ", one, maxsplit=1) for one in words if re.match("[A-Z][A-Za-z-]+: ", one)
    )
    headers["Authorization"] = f"Bearer {grant.token()}"
    reply = send_in_process("POST", {**headers, "Host": "127.0.0.1:8000"}, words[-1].encode())
    assert reply.result["isError"] is False
    assert reply.facts["searched"] == shown_json(page)["searched"]


@pytest.mark.parametrize(
    ("tool", "arguments", "field", "text"),
    [
        ("data_get_ticket", {}, "ticket_id", "This field is required."),
        ("data_search_tickets", {"page_size": "999"}, "page_size", "999"),
        ("data_search_tickets", {"page_size": "9" * 5_000}, "page_size", "not of type"),
        ("data_search_tickets", {"page_size": "ten"}, "page_size", "not of type"),
        ("data_search_tickets", {"status": "<b>"}, "status", "<b>"),
        ("data_search_knowledge", {"query": "x"}, "query", "x"),
        ("data_search_tickets", {"from": "last tuesday"}, "from", ""),
        ("data_search_tickets", {"user": "nobody at all"}, "user", ""),
        ("search_docs", {"query": " "}, "query", "This field is required."),
    ],
)
def test_what_is_wrong_is_said_at_its_field(
    person: Http, grant: Grant, *, tool: str, arguments: dict[str, str], field: str, text: str
) -> None:
    status, page = ask(person, grant, tool, **arguments)
    assert status == 400
    assert control(page, field).attributes["aria-invalid"] == "true"
    hint = page.one("div", id=f"arg-{field}-hint")
    assert text in hint.one("p", role="alert").text
    assert page.all("h2", id="answer-title") == []
    assert (call().outcome, call().surface) == ("validation_failed", "console")


@pytest.mark.parametrize("value", ["%00", "%ED%A0%80", "%FF"])
def test_characters_that_no_database_stores_are_refused(
    person: Http, grant: Grant, value: str
) -> None:
    body = f"arg.query=ab{value}"
    page = person.post(
        ask_path(grant, "data_search_tickets"),
        body,
        content_type="application/x-www-form-urlencoded",
    )
    assert page.status_code in {200, 400}


def test_an_unknown_id_is_a_sentence(person: Http, grant: Grant) -> None:
    status, page = ask(person, grant, "data_get_ticket", ticket_id="tkt_none")
    assert status == 404
    assert "No ticket tkt_none" in problem(page)
    assert control(page, "ticket_id").attributes["value"] == "tkt_none"


@pytest.mark.usefixtures("lab")
@pytest.mark.parametrize(
    ("tool", "arguments", "status", "text"),
    [
        ("greet", {}, 409, "asks a question"),
        ("fail", {"how": "integration"}, 502, "The other side failed."),
        ("fail", {"how": "anything"}, 502, "The tool failed."),
        ("fail", {"how": "huge"}, 400, "too large"),
        ("wait", {}, 400, "required"),
    ],
)
def test_a_call_without_an_answer_says_why(
    person: Http, grant: Grant, *, tool: str, arguments: dict[str, str], status: int, text: str
) -> None:
    found, page = ask(person, grant, tool, **arguments)
    assert (found, text in page.text) == (status, True)


@pytest.mark.usefixtures("lab")
def test_other_kinds_of_arguments_and_results(person: Http, grant: Grant) -> None:
    page = markup(person.get(ask_path(grant, "check")).content)
    assert (control(page, "nested").tag, control(page, "items").tag) == ("textarea", "textarea")
    given = {"whole": "3", "colour": "red", "nested": '{"inner": "x"}', "items": "[1, 2]"}
    status, page = ask(person, grant, "check", **given)
    assert (status, shown_json(page)["seen"]) == (200, ["colour", "items", "nested", "whole"])
    status, page = ask(person, grant, "check", whole="3", nested="{")
    assert (status, control(page, "nested").attributes["aria-invalid"]) == (400, "true")
    assert shown_json(ask(person, grant, "draw")[1]) == {"content": ["a", "b"]}
    deep: Any = "end"
    for _ in range(30):
        deep = {"a": [deep]}
    status, page = ask(person, grant, "echo", value=json.dumps(deep))
    assert (status, shown_json(page)) == (200, deep)
    many = [{f"column {number}": number for number in range(40)}] * 200
    status, page = ask(person, grant, "echo", value=json.dumps(many))
    assert (status, "The JSON below has the rest" in page.text) == (200, True)
    for value in ("null", "true", "[]", "{}", '[1, {"a": 1}]', '"text"', "1.5"):
        assert shown_json(ask(person, grant, "echo", value=value)[1]) == json.loads(value)


def test_times_of_an_answer_have_the_form_of_every_page(
    person: Http, grant: Grant, records: Records
) -> None:
    _, page = ask(person, grant, "data_find_user", user=records.customers[0].pk)
    times = page.all("time", data_local="time")
    assert times
    assert all(re.fullmatch(r"\w{3} \d+, \d{4}, \d\d:\d\d:\d\d UTC", one.text) for one in times)

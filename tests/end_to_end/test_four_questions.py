"""A first start without any configuration, and a published client that asks about the demo data.

It asks the four questions that `data:read` is for, and five that people ask an assistant. The
answers are compared with SQL over the same database.
"""

import asyncio
import json
import re
import sqlite3
from collections.abc import Iterator
from contextlib import closing, contextmanager
from datetime import UTC, date, datetime, time, timedelta
from pathlib import Path
from typing import Any
from zoneinfo import ZoneInfo

import psycopg
import pytest
from mcp import Client

from tests.drivers.person import Person
from tests.drivers.server import (
    DATABASE,
    Server,
    backends_of_its_own,
    environment,
    free_port,
    start_server,
)
from tests.end_to_end.test_official_client import connect

pytestmark = pytest.mark.process

BERLIN = ZoneInfo("Europe/Berlin")
THE_REST = frozenset({"docs:read", "setup:read"})
# Where the server listens and keeps its data, so that it is apart from others on this machine.
PLACE = ("HALO_DATA_DIR", "HALO_PUBLIC_URL")
WORKER_SECONDS = 120
GUIDE = "https://help.wrenboard.example/onboarding"
MARIA = (
    "SELECT u.id, u.name, u.plan, c.id, c.name FROM workspace_customer u "
    "JOIN workspace_company c ON c.id = u.company_id WHERE u.email = %s"
)
UNRESOLVED = "FROM workspace_ticket WHERE status NOT IN ('resolved', 'spam')"
ANSWERED = (
    "SELECT v.id, m.position, m.text FROM workspace_conversationmessage m "
    "JOIN workspace_conversation v ON v.id = m.conversation_id "
    "JOIN workspace_company c ON c.id = v.company_id "
    "WHERE c.domain = 'acme.example' AND m.author_kind IN ('agent', 'teammate') "
    "AND LOWER(m.text) LIKE %s AND v.started_at >= %s AND v.started_at < %s"
)
GLOBEX = (
    "SELECT v.id FROM workspace_conversation v JOIN workspace_company c ON c.id = v.company_id "
    "WHERE c.domain = 'globex.example' ORDER BY v.started_at DESC LIMIT 5"
)
TICKET_TEXTS = (
    "SELECT t.id, t.subject, m.text FROM workspace_ticket t "
    "JOIN workspace_ticketmessage m ON m.ticket_id = t.id "
    "WHERE t.status <> 'spam' AND t.created_at >= %s AND t.created_at < %s"
)
SSO = re.compile(r"\bsso\b", re.IGNORECASE)  # as a word: "associate" has the letters too
TOP = (
    "SELECT name, mrr FROM workspace_company WHERE mrr IS NOT NULL ORDER BY mrr DESC, id DESC "
    "LIMIT 10"
)
# The last band has 21 scores.
CURRENT = (
    "FROM workspace_company c WHERE EXISTS (SELECT 1 "
    "FROM workspace_customer u WHERE u.company_id = c.id AND u.lifecycle <> 'churned')"
)
HEALTH = (
    "SELECT CASE WHEN health_score >= 80 THEN 4 ELSE health_score / 20 END AS band, COUNT(*) "
    f"{CURRENT} AND health_score IS NOT NULL GROUP BY 1 ORDER BY 1"
)
COMPANIES = f"SELECT COUNT(*) {CURRENT}"
BANDS = ("0-19", "20-39", "40-59", "60-79", "80-100")
CHURNED = "SELECT COUNT(*) FROM workspace_customer WHERE churned_at >= %s AND churned_at < %s"
CUSTOMERS = (
    "SELECT COUNT(*) FROM workspace_customer WHERE COALESCE(signed_up_at, first_seen, created_at) "
    "< %s AND (churned_at IS NULL OR churned_at >= %s)"
)


class Answers:
    """The results of the calls of one session of the client, by the question."""

    def __init__(self, client: Client) -> None:
        self.client = client

    async def call(self, tool: str, **arguments: Any) -> dict[str, Any]:
        reply = await self.client.call_tool(tool, arguments)
        assert not reply.is_error, reply.content
        found = reply.structured_content
        assert found is not None
        assert json.loads(reply.content[0].text) == found
        return found

    async def pages(self, tool: str, **arguments: Any) -> list[dict[str, Any]]:
        """The items of all pages of a list."""
        page = await self.call(tool, **arguments)
        items = page["items"]
        while cursor := page.get("next_cursor"):
            page = await self.call(tool, **arguments, cursor=cursor)
            items += page["items"]
        return items

    async def wait_for_guide(self) -> dict[str, Any]:
        """What the knowledge base says, once the worker has indexed the document about it."""
        async with asyncio.timeout(WORKER_SECONDS):
            while True:
                found = await self.call(
                    "data_search_knowledge", query="How does the onboarding of a new team work?"
                )
                if any(item["url"] == GUIDE for item in found["items"]):
                    return found
                # No event reaches a client, which may make 120 calls a minute.
                await asyncio.sleep(1.5)

    async def all(self) -> dict[str, Any]:
        company = await self.call("data_find_company", company="acme.example")
        said = await self.pages(
            "data_search_transcripts",
            company=company["company"]["id"],
            query="onboarding",
            said_by="agent",
            period="last_quarter",
        )
        return {
            "tools": [tool.name for tool in (await self.client.list_tools()).tools],
            "who": await self.call("data_find_user", user="maria@acme.example"),
            "open": await self.pages("data_search_tickets", status="unresolved", page_size=10),
            "open by priority": await self.call(
                "data_search_tickets", status="unresolved", group_by="priority"
            ),
            "said": {
                one["id"]: await self.pages("data_get_transcript", transcript_id=one["id"])
                for one in said
            },
            "known": await self.wait_for_guide(),
            "globex": await self.call(
                "data_search_transcripts", company="globex.example", page_size=5
            ),
            "sso": await self.pages(
                "data_search_tickets", query='"SSO"', period="last_week", page_size=50
            ),
            "top": await self.call("data_search_companies", sort="mrr_desc", page_size=10),
            "health": await self.call("data_search_companies", group_by="health_band"),
            "churned": await self.call(
                "data_query_metrics", metric="churned_customers", period="last_30_days"
            ),
            "churn": await self.call(
                "data_query_metrics", metric="churn_rate", period="last_30_days"
            ),
        }


@contextmanager
def first_start(folder: Path) -> Iterator[Server]:
    """The server as `./run` starts it the first time, with nothing set but where it is."""
    port = free_port()
    with backends_of_its_own(port) as backends:
        env = {
            name: value
            for name, value in environment(folder, port).items()
            if not name.startswith("HALO_") or name in PLACE
        } | backends
        url = f"http://127.0.0.1:{port}"
        with start_server(url, folder / "server.log", env, "manage.py", "up") as server:
            yield server


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Server]:
    with first_start(tmp_path_factory.mktemp("first")) as process:
        yield process


@pytest.fixture(scope="module")
def answers(server: Server) -> dict[str, Any]:
    """What one client gets that a person has connected with data:read alone."""
    printed = server.log.read_text()
    email, password = (
        re.findall(rf"^  {label} +(\S+)$", printed, re.MULTILINE)[0]
        for label in ("Email", "Password")
    )
    person = Person(untick=THE_REST, email=email, password=password)

    async def session() -> dict[str, Any]:
        async with connect(server, "auto", person) as client:
            return await Answers(client).all()

    return asyncio.run(session())


def rows(server: Server, statement: str, *parameters: Any) -> list[list[Any]]:
    """The rows of a statement, which both databases understand."""
    if url := server.env.get("DATABASE_URL"):
        with psycopg.connect(url) as database:
            return [[*row] for row in database.execute(statement, parameters or None)]
    # As Django stores a time there: in UTC, as text.
    stored = [
        str(one.astimezone(UTC).replace(tzinfo=None)) if isinstance(one, datetime) else one
        for one in parameters
    ]
    file = Path(server.env["HALO_DATA_DIR"]) / DATABASE
    with closing(sqlite3.connect(file, timeout=20)) as lite:
        return [[*row] for row in lite.execute(statement.replace("%s", "?"), stored)]


def midnight(day: date) -> datetime:
    return datetime.combine(day, time.min, BERLIN).astimezone(UTC)


def test_the_token_lists_the_data_tools_only(answers: dict[str, Any]) -> None:
    assert len(answers["tools"]) == 18
    assert all(name.startswith("data_") for name in answers["tools"])


def test_who_is_this_customer(server: Server, answers: dict[str, Any]) -> None:
    user, activity = answers["who"]["user"], answers["who"]["activity"]

    company = user["company"]
    answered = [user["id"], user["name"], user["plan"], company["id"], company["name"]]
    assert [answered] == rows(server, MARIA, "maria@acme.example")
    its_own = f"SELECT COUNT(*) {UNRESOLVED} AND customer_id = %s"
    assert [[activity["open_tickets"]]] == rows(server, its_own, user["id"])


def test_what_tickets_are_open(server: Server, answers: dict[str, Any]) -> None:
    unresolved = rows(server, f"SELECT id, subject {UNRESOLVED}")
    by_priority = rows(server, f"SELECT priority, COUNT(*) {UNRESOLVED} GROUP BY priority")

    assert len(unresolved) >= 15
    answered = [[ticket["id"], ticket["subject"]] for ticket in answers["open"]]
    assert sorted(answered) == sorted(unresolved)
    assert answers["open by priority"]["total"] == len(unresolved)
    groups = answers["open by priority"]["groups"]
    assert sorted([one["value"], one["count"]] for one in groups) == sorted(by_priority)


def test_what_did_we_tell_acme_about_onboarding_last_quarter(
    server: Server, answers: dict[str, Any]
) -> None:
    today = datetime.fromisoformat(answers["who"]["as_of"]).astimezone(BERLIN).date()
    this_quarter = date(today.year, (today.month - 1) // 3 * 3 + 1, 1)
    before = this_quarter - timedelta(days=1)
    last_quarter = date(before.year, before.month - 2, 1)
    said = rows(server, ANSWERED, "%onboarding%", midnight(last_quarter), midnight(this_quarter))

    assert len(said) >= 4
    answered = [
        [transcript, message["id"], message["text"]]
        for transcript, messages in answers["said"].items()
        for message in messages
        if message["author"]["kind"] != "customer" and "onboarding" in message["text"].lower()
    ]
    assert sorted(answered) == sorted(said)


def test_what_the_knowledge_base_says_about_onboarding(
    server: Server, answers: dict[str, Any]
) -> None:
    best = answers["known"]["items"][0]
    assert best["url"] == GUIDE
    chunks = "SELECT id FROM workspace_knowledgechunk WHERE url = %s AND text = %s"
    assert len(rows(server, chunks, GUIDE, best["text"])) == 1


def test_how_has_churn_changed_in_the_last_30_days(server: Server, answers: dict[str, Any]) -> None:
    now = datetime.fromisoformat(answers["churned"]["as_of"])
    start = midnight(now.astimezone(BERLIN).date() - timedelta(days=29))
    # Thirty days earlier by the clocks of the workspace, and as far into the period as today.
    start_before, now_before = (
        (moment.astimezone(BERLIN) - timedelta(days=30)).astimezone(UTC) for moment in (start, now)
    )
    churned = rows(server, CHURNED, start, now)[0][0]
    churned_before = rows(server, CHURNED, start_before, now_before)[0][0]
    customers = rows(server, CUSTOMERS, start, start)[0][0]
    customers_before = rows(server, CUSTOMERS, start_before, start_before)[0][0]

    assert churned >= 2
    (figure,) = answers["churned"]["items"]
    assert (figure["value"], figure["previous"]) == (churned, churned_before)
    assert figure["change"] == churned - churned_before
    (rate,) = answers["churn"]["items"]
    assert rate["value"] == pytest.approx(churned / customers, abs=1e-4)
    assert rate["previous"] == pytest.approx(churned_before / customers_before, abs=1e-4)
    assert rate["better"] == "down"


def test_the_last_conversations_with_anyone_at_a_domain(
    server: Server, answers: dict[str, Any]
) -> None:
    last = [[one["id"]] for one in answers["globex"]["items"]]
    assert len(last) == 5
    assert last == rows(server, GLOBEX)


def test_last_weeks_tickets_that_mention_sso(server: Server, answers: dict[str, Any]) -> None:
    today = datetime.fromisoformat(answers["who"]["as_of"]).astimezone(BERLIN).date()
    monday = today - timedelta(days=today.weekday())
    week = (midnight(monday - timedelta(days=7)), midnight(monday))
    texts = rows(server, TICKET_TEXTS, *week)
    found = {key for key, subject, text in texts if SSO.search(f"{subject} {text}")}

    assert len(found) >= 4
    assert sorted(ticket["id"] for ticket in answers["sso"]) == sorted(found)


def test_the_ten_companies_with_the_highest_mrr(server: Server, answers: dict[str, Any]) -> None:
    top = [[company["name"], company["mrr"]] for company in answers["top"]["items"]]
    assert top == [[name, float(mrr)] for name, mrr in rows(server, TOP)]
    assert len(top) == 10


def test_how_health_is_distributed(server: Server, answers: dict[str, Any]) -> None:
    groups = {one["value"]: one["count"] for one in answers["health"]["groups"]}
    without = groups.pop("(none)", 0)
    assert groups == {BANDS[band]: many for band, many in rows(server, HEALTH)}
    assert [[sum(groups.values()) + without]] == rows(server, COMPANIES)

"""The tools of the peer that does equal work: the statements of ours and the same Python.

A search ranks and cuts, and text of customers is cleaned, with the product's own functions, which
import no Django. Results of data tools are built by hand from the rows.
"""

import base64
import hashlib
import os
import re
import runpy
from collections.abc import Callable, Mapping
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, Final, TypeAlias
from zoneinfo import ZoneInfo

import orjson
from cryptography.hazmat.primitives.ciphers.aead import AESGCM

from bench.work import RecordedTool, Statement, Work
from documentation.query import DocumentationQuery
from documentation.ranking import TermMatch, rank, terms_of
from documentation.snippet import snippet, with_marks

Values: TypeAlias = Mapping[str, Any]
Row: TypeAlias = tuple[Any, ...]
Rows: TypeAlias = Callable[[Statement], list[Row]]
# The JSON value that a call answers.
Run: TypeAlias = Callable[[Values], Any]
When: TypeAlias = Callable[[datetime | None], str | None]

USUAL_HITS: Final = 5
PAGE: Final = 10
EXCERPT: Final = 200
HEAD: Final = b"\x01benchkey"  # as long as the format and key id of the product's
CIPHER: Final = AESGCM(os.urandom(32))
# What ours fills in for arguments that are not sent.
DEFAULTS: Final = {"time_field": "created_at", "sort": "created_at_desc"}
NUMBERS: Final = ("mrr", "arr")
TIMES: Final = ("last_seen", "churned_at", "signed_up_at", "first_seen", "last_contacted_at")
# In the order of our results.
PROFILE: Final = (
    *("id", "name", "email", "role", "plan", "company", "mrr", "last_seen", "external_id"),
    *("lifecycle", "churned_at", "arr", "renewal_status", "renewal_date", "contract_term"),
    *("payment_terms", "on_contract", "source", "signed_up_at", "first_seen", "last_contacted_at"),
)
TICKET: Final = (
    *("id", "subject", "status", "priority", "last_author_kind", "last_author_name"),
    *("created_at", "updated_at", "resolved_at"),
)
MESSAGE: Final = ("position", "author_kind", "author_name", "text")
# The product's functions for text of customers; their package imports Django.
TEXTS: Final = runpy.run_path(f"{Path(__file__).parents[2]}/data_tools/query/texts.py")


def _hello(_tool: RecordedTool, _work: Work, _rows_of: Rows) -> Run:
    return lambda arguments: {"greeting": f"Hello, {arguments['name']}."}


def _jwt_sample(tool: RecordedTool, work: Work, rows_of: Rows) -> Run:
    (organization,) = tool.own

    def run(arguments: Values) -> Any:
        (_widget_key,) = rows_of(organization)
        used = {**tool.value["use"], "orgId": work.organization}
        return {**tool.value, "language": arguments.get("language", "node"), "use": used}

    return run


def _search_docs(tool: RecordedTool, work: Work, rows_of: Rows) -> Run:
    begun, matches, marked = tool.own
    example, address = re.compile(work.example_address), work.public_url

    def hit(row: Row, score: float) -> Any:
        page, title, heading, anchor, *marked_texts = row
        return {
            "page": page,
            "title": title,
            "heading": heading,
            "snippet": snippet(example.sub(address, with_marks(*marked_texts))),
            "score": score,
            "url": f"{address}/docs/{page}" + (f"#{anchor}" if anchor else ""),
        }

    def run(arguments: Values) -> Any:
        query = arguments["query"].strip()
        terms = terms_of(DocumentationQuery.parse(query), [word for (word,) in rows_of(begun)])
        found = [TermMatch(*row) for row in rows_of(matches)]
        ranked = rank(terms, found)[: int(arguments.get("page_size", USUAL_HITS))]
        stored = {row[0]: row[1:] for row in rows_of(marked)}
        hits = [hit(stored[one.section], one.score) for one in ranked if one.section in stored]
        return {"query": query, "results": hits}

    return run


def _find_user(tool: RecordedTool, _work: Work, rows_of: Rows) -> Run:
    """Ways to find one customer, then their figures."""

    def run(arguments: Values) -> Any:
        found = [rows_of(statement) for statement in tool.own]
        organization = _named(tool.own[0], found[0][0])
        (customer,) = (_named(tool.own[1], row) for rows in found[1:3] for row in rows)
        ((last_event,),), (tickets,), (talks,), ((events,),) = found[3:]
        when = _when(organization)
        activity = {
            "open_tickets": tickets[1],
            "tickets": tickets[0],
            "last_ticket_at": when(tickets[2]),
            "conversations": talks[0],
            "last_conversation_at": when(talks[1]),
            "events_last_30_days": events,
            "last_event_at": when(last_event),
        }
        value = {"match": "exact", "user": _profile(customer, when), "activity": activity}
        currency = organization["workspace_organization.currency"]
        ends = {"currency": currency, "searched": arguments, "as_of": when(datetime.now(UTC))}
        return TEXTS["compact"]({**value, **ends})

    return run


def _profile(row: Values, when: When) -> Any:
    profile = {name: row.get(f"workspace_customer.{name}") for name in PROFILE}
    profile["company"] = {name: row[f"workspace_company.{name}"] for name in ("id", "name")}
    profile["renewal_date"] = profile["renewal_date"] and str(profile["renewal_date"])
    profile |= {name: when(profile[name]) for name in TIMES}
    return profile | {name: float(profile[name]) for name in NUMBERS if profile[name] is not None}


def _search_tickets(tool: RecordedTool, work: Work, rows_of: Rows) -> Run:
    """How many, a page of them, and what their customers wrote first."""

    def run(arguments: Values) -> Any:
        organizations, ((total,),), rows, first, messages = map(rows_of, tool.own)
        organization = _named(tool.own[0], organizations[0])
        tickets = [_named(tool.own[2], row) for row in rows]
        written = {row[0]: _named(tool.own[4], row) for row in messages}
        quoted: dict[str, Values] = {}
        for key, ticket in first:
            quoted.setdefault(ticket, written.get(key, {}))
        when = _when(organization)
        items = [_ticket(ticket, quoted, when) for ticket in tickets[:PAGE]]
        value = {"items": items, "returned": len(items), "total": total}
        if len(tickets) > PAGE:
            value["next_cursor"] = _cursor(tickets[PAGE - 1], work, tool, arguments)
        zone = organization["workspace_organization.time_zone"]
        name = {"name": "all_time", "field": "created_at"}
        period = {**name, "time_zone": zone, "complete": False}
        ends = {"period": period, "searched": {**arguments, **DEFAULTS}}
        return TEXTS["compact"]({**value, **ends, "as_of": when(datetime.now(UTC))})

    return run


def _ticket(row: Values, quoted: Mapping[str, Values], when: When) -> Any:
    ticket = {name: row[f"workspace_ticket.{name}"] for name in TICKET}
    assignee, message = row["workspace_user.id"], quoted.get(ticket["id"])
    name = row["workspace_user.name"] or row["workspace_user.email"]
    return {
        **{name: ticket[name] for name in ("id", "subject", "status", "priority")},
        "assignee": assignee and {"id": str(assignee), "name": name},
        **{
            member: row[f"{table}.id"] and {"id": row[f"{table}.id"], "name": row[f"{table}.name"]}
            for member, table in (("user", "workspace_customer"), ("company", "workspace_company"))
        },
        "last_author": {"kind": ticket["last_author_kind"], "name": ticket["last_author_name"]},
        **{name: when(ticket[name]) for name in ("created_at", "updated_at", "resolved_at")},
        "excerpt": message and _excerpt(message),
    }


def _excerpt(row: Values) -> Any:
    position, kind, name, text = (row[f"workspace_ticketmessage.{name}"] for name in MESSAGE)
    words = " ".join(TEXTS["clean"](text).split())
    cut = words[:EXCERPT] + "…" * (len(words) > EXCERPT)
    return {"message_id": position, "author": {"kind": kind, "name": name}, "text": cut}


def _cursor(last: Values, work: Work, tool: RecordedTool, arguments: Values) -> str:
    """Where the next page begins, sealed for the caller and the arguments."""
    key = last["workspace_ticket.created_at"].isoformat()
    place = ["all_time", [None, None], ["datetime", key], ["str", last["workspace_ticket.id"]]]
    caller = [work.organization, "", tool.name, {**arguments, **DEFAULTS}]
    context = hashlib.sha256(orjson.dumps(caller, option=orjson.OPT_SORT_KEYS)).digest()
    nonce = os.urandom(12)
    sealed = CIPHER.encrypt(nonce, orjson.dumps(place), HEAD + b"data cursor:" + context)
    return base64.urlsafe_b64encode(HEAD + nonce + sealed).decode().rstrip("=")


def _named(statement: Statement, row: Row) -> dict[str, Any]:
    return {name: row[place] for name, place in statement.columns.items()}


def _when(organization: Values) -> When:
    zone = ZoneInfo(organization["workspace_organization.time_zone"])

    def when(value: datetime | None) -> str | None:
        return value and value.astimezone(zone).isoformat(timespec="seconds")

    return when


BUILDERS: Final[Mapping[str, Callable[[RecordedTool, Work, Rows], Run]]] = {
    "bench.hello": _hello,
    "setup_get_jwt_sample": _jwt_sample,
    "search_docs": _search_docs,
    "data_find_user": _find_user,
    "data_search_tickets": _search_tickets,
}

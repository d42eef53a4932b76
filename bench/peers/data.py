"""The data tools of the peer that does equal work: the statements of ours, and results by hand.

Text of customers is cleaned with the product's own functions, which import no Django.
"""

import base64
import hashlib
import importlib.util
import os
from collections.abc import Callable, Mapping
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, Final, TypeAlias
from zoneinfo import ZoneInfo

import orjson
from cryptography.hazmat.primitives.ciphers.aead import AESGCM
from databases import Database, Row, moment, text
from order import Statement, ToolOrder, Values

Arguments: TypeAlias = Mapping[str, Any]
Run: TypeAlias = Callable[[Values, Arguments], Any]
Columns: TypeAlias = Mapping[str, Any]
When: TypeAlias = Callable[[Any], str | None]

PAGE: Final = 10
EXCERPT: Final = 200
HEAD: Final = b"\x01benchkey"  # as long as the format and key id of the product's
CIPHER: Final = AESGCM(os.urandom(32))
# Its package imports Django.
FILE: Final = Path(__file__).resolve().parents[2] / "tools_registry" / "data" / "texts.py"
SPECIFICATION: Final = importlib.util.spec_from_file_location("texts", FILE)
assert SPECIFICATION is not None  # noqa: S101  the file is there
assert SPECIFICATION.loader is not None  # noqa: S101  the same
texts: Final = importlib.util.module_from_spec(SPECIFICATION)
SPECIFICATION.loader.exec_module(texts)


def finding(tool: ToolOrder, database: Database) -> Run:
    """data_find_user: ways to find one customer, then their figures."""
    asked = _asking(database)

    def run(known: Values, arguments: Arguments) -> Any:
        found = [asked(statement, known) for statement in tool.own]
        organization = _columns(tool.own[0], found[0][0])
        (customer,) = (_columns(tool.own[1], row) for rows in found[1:3] for row in rows)
        ((last_event,),), tickets, talks, ((events,),) = found[3:]
        when = _when(organization)
        value = {
            "match": "exact",
            "user": _profile(customer, when),
            "activity": _activity(tickets[0], talks[0], events, last_event, when),
            "currency": organization["workspace_organization.currency"],
        }
        return texts.compact({**value, "searched": arguments, "as_of": when(datetime.now(UTC))})

    return run


def searching(tool: ToolOrder, database: Database) -> Run:
    """data_search_tickets: how many, a page of them, and what their customers wrote first."""
    asked = _asking(database)

    def run(known: Values, arguments: Arguments) -> Any:
        organizations, ((total,),), rows, first, messages = (
            asked(statement, known) for statement in tool.own
        )
        organization = _columns(tool.own[0], organizations[0])
        tickets = [_columns(tool.own[2], row) for row in rows]
        written = {row[0]: _columns(tool.own[4], row) for row in messages}
        quoted: dict[str, Columns] = {}
        for key, ticket in first:
            quoted.setdefault(ticket, written.get(key, {}))
        when = _when(organization)
        items = [_ticket(one, quoted, when) for one in tickets[:PAGE]]
        value = {"items": items, "returned": len(items), "total": total}
        if len(tickets) > PAGE:
            value["next_cursor"] = _cursor(tickets[PAGE - 1], known, tool, arguments)
        period = {"time_zone": organization["workspace_organization.time_zone"], "complete": False}
        ends = {
            "period": {"name": "all_time", "field": "created_at", **period},
            "searched": {**arguments, **DEFAULTS},
            "as_of": when(datetime.now(UTC)),
        }
        return texts.compact({**value, **ends})

    return run


def _asking(database: Database) -> Callable[[Statement, Values], list[Row]]:
    def asked(statement: Statement, known: Values) -> list[Row]:
        return database.rows(statement.text, statement.values(known, database.ago))

    return asked


def _columns(statement: Statement, row: Row) -> Columns:
    return {name.replace('"', ""): row[place] for name, place in statement.columns.items()}


def _when(organization: Columns) -> When:
    zone = ZoneInfo(organization["workspace_organization.time_zone"])

    def when(value: Any) -> str | None:
        if value is None:
            return None
        return moment(value).astimezone(zone).isoformat(timespec="seconds")

    return when


def _amount(value: Any) -> float | None:
    return None if value is None else float(value)


def _profile(row: Columns, when: When) -> Any:
    def of(name: str) -> Any:
        return row[f"workspace_customer.{name}"]

    names = ("id", "name", "email", "role", "plan")
    return {
        **{name: of(name) for name in names},
        "company": {
            "id": row["workspace_company.id"],
            "name": row["workspace_company.name"],
        },
        "mrr": _amount(of("mrr")),
        "last_seen": when(of("last_seen")),
        "external_id": of("external_id"),
        "lifecycle": of("lifecycle"),
        "churned_at": when(of("churned_at")),
        "arr": _amount(of("arr")),
        "renewal_status": of("renewal_status"),
        "renewal_date": of("renewal_date") and str(of("renewal_date")),
        "contract_term": of("contract_term"),
        "payment_terms": of("payment_terms"),
        "on_contract": of("on_contract"),
        "source": of("source"),
        **{name: when(of(name)) for name in ("signed_up_at", "first_seen", "last_contacted_at")},
    }


def _activity(tickets: Row, talks: Row, events: int, last_event: Any, when: When) -> Any:
    return {
        "open_tickets": tickets[1],
        "tickets": tickets[0],
        "last_ticket_at": when(tickets[2]),
        "conversations": talks[0],
        "last_conversation_at": when(talks[1]),
        "events_last_30_days": events,
        "last_event_at": when(last_event),
    }


def _ticket(row: Columns, quoted: Mapping[str, Columns], when: When) -> Any:
    def of(name: str) -> Any:
        return row[f"workspace_ticket.{name}"]

    assignee = row["workspace_user.id"]
    message = quoted.get(of("id"))
    return {
        **{name: of(name) for name in ("id", "subject", "status", "priority")},
        "assignee": assignee and {"id": text(assignee), "name": _name(row)},
        **{
            member: row[f"{table}.id"] and {"id": row[f"{table}.id"], "name": row[f"{table}.name"]}
            for member, table in (("user", "workspace_customer"), ("company", "workspace_company"))
        },
        "last_author": {"kind": of("last_author_kind"), "name": of("last_author_name")},
        **{name: when(of(name)) for name in ("created_at", "updated_at", "resolved_at")},
        "excerpt": message and _excerpt(message),
    }


def _name(row: Columns) -> str:
    name: str = row["workspace_user.name"] or row["workspace_user.email"]
    return name


def _excerpt(row: Columns) -> Any:
    def of(name: str) -> Any:
        return row[f"workspace_ticketmessage.{name}"]

    words = " ".join(texts.clean(of("text")).split())
    return {
        "message_id": of("position"),
        "author": {"kind": of("author_kind"), "name": of("author_name")},
        "text": words[:EXCERPT] + "…" * (len(words) > EXCERPT),
    }


def _cursor(last: Columns, known: Values, tool: ToolOrder, arguments: Arguments) -> str:
    """Where the next page begins, sealed for the caller and the arguments."""
    key = moment(last["workspace_ticket.created_at"]).isoformat()
    place = ["all_time", [None, None], ["datetime", key], ["str", last["workspace_ticket.id"]]]
    caller = [text(known["organization"]), "", tool.name, {**arguments, **DEFAULTS}]
    context = hashlib.sha256(orjson.dumps(caller, option=orjson.OPT_SORT_KEYS)).digest()
    nonce = os.urandom(12)
    sealed = CIPHER.encrypt(nonce, orjson.dumps(place), HEAD + b"data cursor:" + context)
    return base64.urlsafe_b64encode(HEAD + nonce + sealed).decode().rstrip("=")


# What ours fills in for arguments that are not sent.
DEFAULTS: Final = {"time_field": "created_at", "sort": "created_at_desc"}

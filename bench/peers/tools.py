"""The tools of the peer that does equal work: the statements of ours and the same Python.

A search ranks and cuts with the product's own functions, which import no Django.
"""

import re
from collections.abc import Callable, Mapping
from typing import Any, Final, TypeAlias

import data
from databases import Database, Row, text
from order import Order, Statement, ToolOrder, Values

from documentation.query import Query
from documentation.ranking import Match, Ranked, rank, terms_of
from documentation.snippet import snippet, with_marks

Arguments: TypeAlias = Mapping[str, Any]
# The JSON value that a call answers; `known` holds the caller's keys as the columns have them.
Run: TypeAlias = Callable[[Values, Arguments], Any]

USUAL_HITS: Final = 5


def build(tool: ToolOrder, order: Order, database: Database) -> Run:
    return BUILDERS[tool.name](tool, order, database)


def _hello(_tool: ToolOrder, _order: Order, _database: Database) -> Run:
    return lambda _known, arguments: {"greeting": f"Hello, {arguments['name']}."}


def _jwt_sample(tool: ToolOrder, _order: Order, database: Database) -> Run:
    (organization,) = tool.own

    def run(known: Values, arguments: Arguments) -> Any:
        (_widget_key,) = database.rows(organization.text, organization.values(known))
        used = {**tool.value["use"], "orgId": text(known["organization"])}
        return {**tool.value, "language": arguments.get("language", "node"), "use": used}

    return run


def _search(tool: ToolOrder, order: Order, database: Database) -> Run:
    begun, matches, marked = tool.own
    example = re.compile(order.work["example_address"])
    address = order.work["public_url"]

    def rows(statement: Statement, known: Values) -> list[Row]:
        return database.rows(statement.text, statement.values(known))

    def run(known: Values, arguments: Arguments) -> Any:
        query = arguments["query"].strip()
        asked = terms_of(Query.parse(query), [word for (word,) in rows(begun, known)])
        found = [Match(*row) for row in rows(matches, known)]
        ranked = rank(asked, found)[: int(arguments.get("page_size", USUAL_HITS))]
        stored = {row[0]: row[1:] for row in rows(marked, known)}
        hits = [
            _hit(stored[one.section], example, one, address)
            for one in ranked
            if one.section in stored
        ]
        return {"query": query, "results": hits}

    return run


def _hit(row: Row, example: re.Pattern[str], ranked: Ranked, address: str) -> Any:
    page, title, heading, anchor, *texts = row
    # On PostgreSQL the text and, without its punctuation, the marked one.
    marked = texts[0] if len(texts) == 1 else with_marks(*texts)
    return {
        "page": page,
        "title": title,
        "heading": heading,
        "snippet": snippet(example.sub(address, marked)),
        "score": ranked.score,
        "url": f"{address}/docs/{page}" + (f"#{anchor}" if anchor else ""),
    }


def _find_user(tool: ToolOrder, _order: Order, database: Database) -> Run:
    return data.finding(tool, database)


def _search_tickets(tool: ToolOrder, _order: Order, database: Database) -> Run:
    return data.searching(tool, database)


BUILDERS: Final[Mapping[str, Callable[[ToolOrder, Order, Database], Run]]] = {
    "bench.hello": _hello,
    "setup_get_jwt_sample": _jwt_sample,
    "search_docs": _search,
    "data_find_user": _find_user,
    "data_search_tickets": _search_tickets,
}

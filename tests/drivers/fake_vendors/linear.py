"""Linear on the loopback: a workspace of two teams, behind the published GraphQL schema.

Every document is validated against the schema and run by graphql-core, so that what comes back has
the shape that the schema says too.
"""

import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from functools import cache
from http import HTTPStatus
from http.server import BaseHTTPRequestHandler
from pathlib import Path
from typing import Any
from uuid import UUID

from graphql import GraphQLError, GraphQLSchema, build_schema, graphql_sync, parse, validate

from tests.drivers.fake_vendors import site
from tests.drivers.fake_vendors.site import Answer, Seen, Site, saying

CONTRACT = Path(__file__).parents[2] / "fixtures" / "vendors" / "linear" / "schema.graphql"
KEY = "lin_api_the-organizations-own-key"

ENG = {"id": "11111111-0000-4000-8000-000000000001", "key": "ENG", "name": "Engineering"}
OPS = {"id": "11111111-0000-4000-8000-000000000002", "key": "OPS", "name": "Operations"}
# Two teams that are called the same, and a team that is called like another's key.
TWINS = [
    {"id": f"11111111-0000-4000-8000-00000000000{number}", "key": f"TW{number}", "name": "Twins"}
    for number in (3, 4)
]
DECOY = {"id": "11111111-0000-4000-8000-000000000005", "key": "DEC", "name": "ops"}


def label(number: int, name: str, team: Any = None, *, is_group: bool = False) -> dict[str, Any]:
    identifier = f"22222222-0000-4000-8000-{number:012}"
    return {"id": identifier, "name": name, "team": team, "isGroup": is_group}


BUG, IDEA = label(1, "Bug"), label(2, "Idea")
URGENT, NIGHTLY = label(3, "Customer waits", ENG), label(4, "Nightly", OPS)
AREA = label(5, "Area", is_group=True)


def refusal(message: str, code: str, words: str = "", **extensions: Any) -> dict[str, Any]:
    """An error as Linear writes it."""
    reported = {
        "code": code,
        "userError": bool(words),
        "userPresentableMessage": words,
        **extensions,
    }
    return {"errors": [{"message": message, "extensions": reported}], "data": None}


def rate_limit_answer(budget: str, seconds: float) -> Answer:
    """The answer to one request too many: with 400, and the end in milliseconds."""
    end = str(int((time.time() + seconds) * 1000))
    headers = {
        "X-RateLimit-Requests-Remaining": "7",
        "X-RateLimit-Requests-Reset": "1",
        f"X-RateLimit-{budget}-Remaining": "0",
        f"X-RateLimit-{budget}-Reset": end,
    }
    return saying(refusal("Rate limit exceeded", "RATELIMITED"), 400, headers)


class Linear(Site):
    """`breaches` says where a request left the contract; `page` is the most on one page."""

    def __init__(self, port: int = 0) -> None:
        super().__init__(port=port)
        self.teams: list[Any] = [ENG, OPS, *TWINS, DECOY]
        self.labels: list[Any] = [BUG, IDEA, URGENT, NIGHTLY, AREA]
        self.issues: list[dict[str, Any]] = []
        self.breaches: list[str] = []
        self.page = 50
        self.troubles: list[tuple[Answer, bool]] = []

    @property
    def inputs(self) -> list[dict[str, Any]]:
        """What was asked to be created, in the order it came."""
        sent = [seen.json["variables"] for seen in self.seen]
        return [variables["input"] for variables in sent if "input" in variables]

    def refuse_creation(self, *answers: Answer) -> None:
        """Say these instead of creating something."""
        self.troubles += [(answer, False) for answer in answers]

    def lose_creation(self, *answers: Answer) -> None:
        """Create, and then say these: nobody learns what was done."""
        self.troubles += [(answer, True) for answer in answers]

    def answer(self, seen: Seen, handler: BaseHTTPRequestHandler) -> None:
        try:
            self.usual = self._answer(seen)
        except Exception as breach:  # noqa: BLE001  a request that breaks the fake vendor is a breach
            self.breaches.append(repr(breach))
            self.usual = saying({}, 599)
        super().answer(seen, handler)

    def _answer(self, seen: Seen) -> Answer:
        assert (seen.method, seen.path) == ("POST", "/graphql"), f"{seen.method} {seen.path}"
        assert seen.headers["content-type"] == "application/json"
        assert not seen.query
        if seen.headers.get("authorization") != KEY:
            words = "You need to authenticate to access this operation."
            return saying(refusal("Authentication required", "AUTHENTICATION_ERROR", words), 401)
        body = seen.json
        assert set(body) == {"query", "variables"}
        assert validate(schema(), parse(body["query"])) == []
        if "input" not in body["variables"] or not self.troubles:
            return self._execute(body)
        trouble, is_obeyed = self.troubles.pop(0)
        if is_obeyed:
            self._execute(body)
        return trouble

    def _execute(self, body: Mapping[str, Any]) -> Answer:
        root = {
            "viewer": {"id": "u1", "name": "Ada", "organization": {"id": "o1", "name": "Acme"}},
            "teams": lambda _info, **asked: self._page(self.teams, **asked),
            "issueLabels": lambda _info, **asked: self._page(self.labels, **asked),
            "issues": lambda _info, **asked: self._page(self.issues, **asked),
            "issueCreate": lambda _info, **asked: self._create(asked["input"]),
        }
        result = graphql_sync(schema(), body["query"], root, variable_values=body["variables"])
        # An error of ours has a code; any other is about the request.
        assert all(error.extensions for error in result.errors or ()), result.errors
        status = HTTPStatus.BAD_REQUEST if result.errors else HTTPStatus.OK
        return saying(result.formatted, status)

    def _page(self, rows: Sequence[Any], **asked: Any) -> dict[str, Any]:
        found = [row for row in rows if fits(row, asked.get("filter", {}))]
        start = int(asked.get("after", 0))
        end = start + min(asked["first"], self.page)
        more = {"hasNextPage": end < len(found), "hasPreviousPage": start > 0}
        return {"nodes": found[start:end], "pageInfo": {**more, "endCursor": str(end)}}

    def _create(self, given: Mapping[str, Any]) -> dict[str, Any]:
        assert UUID(given["id"]).version == 4
        team = next((one for one in self.teams if one["id"] == given["teamId"]), None)
        usable = [one["id"] for one in self.labels if one["team"] in (None, team)]
        if team is None or not set(given.get("labelIds", ())) <= set(usable):
            raise input_error("Entity not found", "Could not find referenced entity.")
        if any(issue["id"] == given["id"] for issue in self.issues):
            words = f"Entity Issue with id {given['id']} already exists."
            raise input_error("conflict on insert of Issue", words)
        self.issues.append(self._issue(given, team))
        return {"success": True, "lastSyncId": 1.0, "issue": self.issues[-1]}

    def _issue(self, given: Mapping[str, Any], team: Mapping[str, Any]) -> dict[str, Any]:
        identifier = f"{team['key']}-{len(self.issues) + 1}"
        url = f"https://linear.app/acme/issue/{identifier}"
        return {"priority": 0.0, **given, "identifier": identifier, "url": url, "team": team}


def input_error(message: str, words: str) -> GraphQLError:
    reported = {"code": "INPUT_ERROR", "userError": True, "userPresentableMessage": words}
    return GraphQLError(message, extensions={**reported, "statusCode": 400})


def fits(row: Any, asked: Mapping[str, Any]) -> bool:
    """Whether a row is what a filter asks for; what it does not know is a breach."""
    return all(_fits(row, name, inner) for name, inner in asked.items())


def _fits(row: Any, name: str, inner: Any) -> bool:
    match name:
        case "and":
            return all(fits(row, one) for one in inner)
        case "or":
            return any(fits(row, one) for one in inner)
        case "null":
            return (row is None) == inner
        case "eq":
            return bool(row == inner)
        case "eqIgnoreCase":
            return str(row).casefold() == inner.casefold()
    # A relation that is not there fits nothing but `null`.
    return fits(row[name], inner) if row is not None else False


@cache
def schema() -> GraphQLSchema:
    return build_schema(CONTRACT.read_text("utf-8"))


@contextmanager
def serving(port: int = 0) -> Iterator[Linear]:
    """The fake vendor for as long as the block runs; its end says what left the contract."""
    with site.serving(Linear(port)) as linear:
        yield linear
    assert linear.breaches == []

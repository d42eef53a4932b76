"""The steps of each client, from sign-in to tokens that expired, and what came of them.

What a client says of itself is not trusted: consents, calls and tokens are read from the records of
the server, for an organization that only this client uses.
"""

import json
import re
import threading
import traceback
from collections.abc import Callable, Iterator, Mapping
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field
from enum import StrEnum
from typing import Final

from tests.clients.daily.installing import NotInstalled
from tests.clients.daily.sessions import Opener, ToolSession
from tests.clients.real_client_flow import QUESTION, Tour
from tests.drivers.accounts import Account
from tests.drivers.evaluation import evaluate
from tests.drivers.node import Unavailable

# Long enough for a command line to start, list and call twice; the clients wait for its end twice.
TOKEN_SECONDS: Final = 60
SEARCH: Final = ("search_docs", {"query": QUESTION})
READ: Final = ("read_doc", {"page": "scopes"})
# What the answer to each call holds.
SIGNS: Final = {"search_docs": "scopes", "read_doc": "Scopes"}
RECORDS: Final = """
import json
from audit.models import ActionExecution
from oauth.models import AccessToken, AuthorizationRequest
tokens = AccessToken.objects.filter(authorization__organization={organization!r})
tokens = tokens.exclude(authorization={authorization!r}).order_by("-expires")
approved = AuthorizationRequest.objects.filter(user__email={email!r}, outcome="approved")
calls = ActionExecution.objects.filter(organization_id={organization!r}, method="tools/call")
newest = tokens.first()
print(json.dumps({{
    "consents": approved.count(),
    "tokens": tokens.count(),
    "expires": newest.expires.timestamp() if newest else 0,
    "calls": list(calls.order_by("id").values_list("tool", "outcome")),
}}))
"""
TOOLS: Final = (
    "import json; from tests.drivers.data_tools import BUILT_IN; print(json.dumps(BUILT_IN))"
)
NOW: Final = "from django.utils import timezone; print(timezone.now().timestamp())"


class Verdict(StrEnum):
    WORKS = "works"
    NOTED = "works, with a note"
    SECOND_CONSENT = "second consent"
    DIES = "dies"
    NOT_TRIED = "not tried"


class Step(StrEnum):
    SIGN_IN = "sign-in"
    LIST = "list"
    CALLS = "two calls"
    EXPIRY = "expiry"
    RESTART = "restart"
    RESTART_EXPIRED = "restart after expiry"


@dataclass(frozen=True)
class StepOutcome:
    verdict: Verdict
    note: str = ""


@dataclass(frozen=True)
class ConsentRecords:
    """What the server recorded of an organization, and of its person's consents."""

    consents: int
    tokens: int
    expires: float
    calls: list[tuple[str, str]]


@dataclass
class Visit:
    """A client's way through the steps."""

    tour: Tour
    account: Account
    env: Mapping[str, str] = field(repr=False)
    outcomes: dict[Step, StepOutcome] = field(default_factory=dict)
    errors: list[str] = field(default_factory=list)

    def records(self) -> ConsentRecords:
        facts = {name: getattr(self.account, name) for name in ("organization", "email")}
        code = RECORDS.format(authorization=self.account.authorization, **facts)
        return ConsentRecords(**json.loads(evaluate(self.env, code)))

    def wait_for_expiry(self) -> None:
        """Until no access token of the client is valid any more."""
        expires = self.records().expires
        remaining = expires - float(evaluate(self.env, NOW))
        threading.Event().wait(max(0.0, remaining) + 1)

    @contextmanager
    def step(self, step: Step, consents: int) -> Iterator[None]:
        """Judge a step in which this many consents are to be expected."""
        before = self.records().consents
        try:
            yield
        except (NotInstalled, Unavailable):
            raise
        except Exception as error:
            self.errors.append(f"{step}: {error}\n{traceback.format_exc(limit=-3)}")
            self.outcomes[step] = StepOutcome(Verdict.DIES, first_line(error))
            raise StepFailed from error
        given = self.records().consents - before
        self.outcomes[step] = judge(given, consents)

    def call(self, session: ToolSession, tool: str, arguments: Mapping[str, str]) -> None:
        """Call a tool; its answer and its record have to be right."""
        before = len(self.records().calls)
        text = session.call(tool, arguments)
        assert SIGNS[tool] in text, text[:300]
        recorded = self.records().calls[before:]
        assert recorded == [[tool, "success"]], recorded


class StepFailed(Exception):
    """A step failed; those after it are not tried."""


def judge(given: int, expected: int) -> StepOutcome:
    if given == expected:
        return StepOutcome(Verdict.WORKS)
    if expected:
        return StepOutcome(Verdict.NOTED, f"{given} consents")
    return StepOutcome(Verdict.SECOND_CONSENT)


def first_line(error: Exception) -> str:
    lines = re.sub(r"\x1b\[[0-9;?]*[a-zA-Z]", "", str(error)).strip().splitlines()
    return lines[0][:120] if lines else type(error).__name__


def go_through(
    visit: Visit, sign_in: Callable[[Tour], None] | None, opened: Opener, expiries: int
) -> None:
    """Take a client through the steps, until one fails; its token expires so often in a row."""
    try:
        _go_through(visit, sign_in, opened, expiries)
    except StepFailed:
        for step in Step:
            reason = "a step before it failed"
            visit.outcomes.setdefault(step, StepOutcome(Verdict.NOT_TRIED, reason))


def _go_through(
    visit: Visit, sign_in: Callable[[Tour], None] | None, opened: Opener, expiries: int
) -> None:
    with ExitStack() as stack:
        with visit.step(Step.SIGN_IN, 1):
            if sign_in:
                sign_in(visit.tour)
            session = stack.enter_context(opened(visit.tour))
            if not sign_in:
                session.list_tools()  # a library signs in when it connects
        with visit.step(Step.LIST, 0):
            tools = session.list_tools()
            assert sorted(tools) == sorted(json.loads(evaluate(visit.env, TOOLS))), tools
        with visit.step(Step.CALLS, 0):
            visit.call(session, *SEARCH)
            visit.call(session, *READ)
        with visit.step(Step.EXPIRY, 0):
            for _ in range(expiries):
                expect_refresh(visit, session)
    with visit.step(Step.RESTART, 0), opened(visit.tour) as session:
        visit.call(session, *READ)
    with visit.step(Step.RESTART_EXPIRED, 0):
        visit.wait_for_expiry()
        with opened(visit.tour) as session:
            visit.call(session, *SEARCH)


def expect_refresh(visit: Visit, session: ToolSession) -> None:
    visit.wait_for_expiry()
    before = visit.records()
    visit.call(session, *READ)
    assert visit.records().expires > before.expires

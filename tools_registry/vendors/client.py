"""Requests to a vendor in an organization's name, through the one guarded client.

All requests of a call share one deadline. A vendor that is busy is asked again as its headers say,
one that fails only where a request may be repeated, and one that keeps failing not at all for a
while. No transaction is open and no lock is held while anything here waits.
"""

import math
from collections.abc import Mapping
from dataclasses import dataclass, field
from http import HTTPStatus
from itertools import count
from typing import Final, NoReturn
from uuid import UUID

from foundation.outbound import OutboundError, TimedOut, Unreachable, Unwanted, again
from foundation.outbound.breaker import Breakers
from foundation.sealing import SealBroken
from tools_registry.models import IntegrationMode
from tools_registry.results import UpstreamFailure
from tools_registry.types import (
    Answer,
    Cancelled,
    Connection,
    IntegrationFailure,
    Json,
    ToolFailure,
    Unauthorized,
)
from tools_registry.vendor import NOTHING
from tools_registry.vendors import credentials, standing, wire
from tools_registry.vendors.patience import (
    MOST_TRIES,
    Patience,
    asked_to_wait,
    pause_before_repeating,
)
from tools_registry.vendors.wire import Request

DAY_SECONDS: Final = 86_400
# These ask for no change (RFC 9110 section 9.2.1).
SAFE: Final = frozenset({"GET", "HEAD", "OPTIONS"})
EARLIER: Final = "An earlier try of it may have come through."
# By organization and integration, never by vendor alone: what one organization's credential and
# requests bring about must not close the way for the others.
breakers: Final = Breakers()


@dataclass(slots=True)
class OrganizationVendor:
    """`tools_registry.vendor.Vendor` for one organization; opens the credential when first used."""

    integration: str
    connection: Connection
    organization_id: UUID
    patience: Patience
    _opened: "Opened | None" = field(default=None, repr=False)

    @property
    def settings(self) -> Mapping[str, str]:
        settings: Mapping[str, str] = self._open().mode.settings
        return settings

    def send(
        self,
        method: str,
        path: str,
        *,
        query: Mapping[str, str] = NOTHING,
        json: Json = None,
        form: Mapping[str, str] = NOTHING,
        idempotency_key: str = "",
    ) -> Answer:
        request = wire.written(
            self.connection,
            self._open().secret,
            wire.place(self.integration, self.connection, path, query),
            method,
            json=json,
            form=form,
            idempotency_key=idempotency_key,
        )
        answer, is_unclear = self._persisted(request)
        try:
            return self._judged(answer)
        except ToolFailure as failure:
            if is_unclear:
                raise _unclear(failure) from failure
            raise

    def _open(self) -> "Opened":
        self._opened = self._opened or _opened(self.organization_id, self.integration)
        return self._opened

    def _persisted(self, request: Request) -> tuple[Answer, bool]:
        """The answer of the last try, and whether one before may have changed something.

        Raises IntegrationFailure for no answer.
        """
        is_unclear = False
        for tries in count(1):
            self._require_time()
            outcome = self._tried(request)
            pause = self._pause(request, outcome, tries)
            if pause is None:
                break
            is_unclear = is_unclear or _may_have_changed(request, outcome)
            self.patience.wait(pause)
        if isinstance(outcome, OutboundError):
            raise _unanswered(self.integration, outcome)
        return outcome, is_unclear

    def _pause(self, request: Request, outcome: Answer | OutboundError, tries: int) -> float | None:
        pause = None
        if isinstance(outcome, Answer):
            pause = asked_to_wait(self.connection, outcome)
        if pause is None and request.repeatable:
            pause = pause_before_repeating(outcome, tries)
        is_last = tries == MOST_TRIES or breakers.rest(self._key) > 0
        if pause is None or is_last or not self.patience.affords(pause):
            return None
        return pause

    def _require_time(self) -> None:
        self.patience.require_caller()
        if not self.patience.left():
            raise IntegrationFailure(f"{self.integration}: the deadline has passed.")
        rest = breakers.rest(self._key)
        if rest:
            message = f"{self.integration} does not answer. Try again {_in(rest)}."
            raise IntegrationFailure(message)

    @property
    def _key(self) -> tuple[UUID, str]:
        return self.organization_id, self.integration

    def _tried(self, request: Request) -> Answer | OutboundError:
        try:
            answer = wire.sent(
                self.integration, request, self.patience.left(), self.patience.channel.is_cancelled
            )
        except Unwanted:
            raise Cancelled from None
        except (TimedOut, Unreachable) as error:
            self._failed(str(_unanswered(self.integration, error)))
            return error
        except OutboundError as error:
            return error
        if answer.status >= HTTPStatus.INTERNAL_SERVER_ERROR:
            self._failed(f"{self.integration} answered {answer.status}.")
        else:
            breakers.answered(self._key)
        return answer

    def _failed(self, message: str) -> None:
        if breakers.failed(self._key):
            standing.silent(self._open().mode, message)

    def _judged(self, answer: Answer) -> Answer:
        failure = self.connection.judge(answer)
        if failure is None:
            standing.answered(self._open().mode)
            return answer
        if isinstance(failure, UpstreamFailure) and failure.upstream_status is None:
            failure.upstream_status = answer.status
        # A 403 refuses one request, not the credential (RFC 9110 sections 15.5.2 and 15.5.4).
        if isinstance(failure, Unauthorized) and answer.status != HTTPStatus.FORBIDDEN:
            standing.refused(self._open().mode, failure.message)
        wait = asked_to_wait(self.connection, answer)
        if wait is not None:
            raise _busy(failure.message, wait, answer.status)
        raise failure


@dataclass(frozen=True, slots=True)
class Opened:
    """An organization's side of a connection, ready to be used."""

    secret: str = field(repr=False)
    mode: IntegrationMode


def _opened(organization_id: UUID, integration: str) -> Opened:
    credential = credentials.of(organization_id, integration)
    if credential is None:
        raise IntegrationFailure("This integration is not connected.")
    try:
        return Opened(credentials.opened(credential), credential.mode)
    except SealBroken as broken:
        _unreadable(credential.mode, broken)


def _unreadable(mode: IntegrationMode, broken: SealBroken) -> NoReturn:
    message = "The stored credential cannot be opened."
    standing.refused(mode, message)
    raise IntegrationFailure(message) from broken


def _unanswered(integration: str, error: OutboundError) -> IntegrationFailure:
    failure = IntegrationFailure(f"{integration}: {error.reason}.")
    failure.__cause__ = error
    return failure


def _may_have_changed(request: Request, outcome: Answer | OutboundError) -> bool:
    if request.method in SAFE:
        return False
    return isinstance(outcome, OutboundError) or outcome.status in again.PASSING


def _unclear(refusal: ToolFailure) -> IntegrationFailure:
    # Without the status: it speaks for the last try, and nothing speaks for the whole.
    return IntegrationFailure(f"{refusal.message} {EARLIER}")


def _busy(message: str, wait: float, status: int) -> IntegrationFailure:
    return IntegrationFailure(f"{message} Try again {_in(wait)}.", upstream_status=status)


def _in(seconds: float) -> str:
    if seconds > DAY_SECONDS:
        return "later"
    whole = max(math.ceil(seconds), 1)
    return f"in {whole} second{'s' if whole > 1 else ''}"

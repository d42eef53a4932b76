"""Requests to a vendor in an organization's name, through the one guarded client.

All requests of a call share one deadline. A request that was rate limited is retried as its headers
say, a failed one if it may be repeated; a vendor that keeps failing is not called for a while. No
transaction is open and no lock is held while anything here waits.
"""

import math
from collections.abc import Mapping
from dataclasses import dataclass, field
from http import HTTPStatus
from itertools import count
from typing import Final, NoReturn
from uuid import UUID

from foundation.masking import mask_secrets
from foundation.outbound import OutboundError, TimedOut, Unreachable, Unwanted, retry
from foundation.outbound.breaker import Breakers
from foundation.sealing import SealBroken
from tools_registry import registry
from tools_registry.api import (
    Cancelled,
    IntegrationFailure,
    Json,
    ToolFailure,
    Unauthorized,
    VendorConnection,
    VendorResponse,
)
from tools_registry.api.vendor import NOTHING
from tools_registry.models import IntegrationMode
from tools_registry.vendors import connection_status, credentials, wire
from tools_registry.vendors.retries import (
    MAX_ATTEMPTS,
    CallDeadline,
    requested_wait,
    retry_delay,
)
from tools_registry.vendors.wire import VendorRequest

DAY_SECONDS: Final = 86_400
# Safe methods, which request no change (RFC 9110 section 9.2.1).
SAFE: Final = frozenset({"GET", "HEAD", "OPTIONS"})
EARLIER: Final = "An earlier attempt may have succeeded."
# By organization and integration, never by vendor alone: failures of one organization's credential
# and requests must not open the circuit breaker of others.
breakers: Final = Breakers()


@dataclass(slots=True)
class OrganizationVendor:
    """The `Vendor` of the API for one organization; opens the credential when first used."""

    integration: str
    connection: VendorConnection
    organization_id: UUID
    deadline: CallDeadline
    _opened: "OpenedCredential | None" = field(default=None, repr=False)

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
    ) -> VendorResponse:
        request = wire.build_request(
            self.connection,
            self._open().secret,
            wire.place(self.integration, self.connection, path, query),
            method,
            json=json,
            form=form,
            idempotency_key=idempotency_key,
        )
        answer, is_unclear = self._send_with_retries(request)
        try:
            return self._check_answer(answer)
        except ToolFailure as failure:
            if is_unclear:
                raise _unclear(failure) from failure
            raise

    def _open(self) -> "OpenedCredential":
        self._opened = self._opened or _open_credential(self.organization_id, self.integration)
        return self._opened

    def _send_with_retries(self, request: VendorRequest) -> tuple[VendorResponse, bool]:
        """The answer of the last try, and whether one before may have changed something.

        Raises IntegrationFailure for no answer.
        """
        is_unclear = False
        for tries in count(1):
            self._require_time()
            outcome = self._send_once(request)
            pause = self._pause(request, outcome, tries)
            if pause is None:
                break
            is_unclear = is_unclear or _may_have_changed(request, outcome)
            self.deadline.wait(pause)
        if isinstance(outcome, OutboundError):
            raise _to_failure(self.integration, outcome)
        return outcome, is_unclear

    def _pause(
        self, request: VendorRequest, outcome: VendorResponse | OutboundError, tries: int
    ) -> float | None:
        pause = None
        if isinstance(outcome, VendorResponse):
            pause = requested_wait(self.connection, outcome)
        if pause is None and request.repeatable:
            pause = retry_delay(outcome, tries)
        is_last = tries == MAX_ATTEMPTS or breakers.rest(self._key) > 0
        if pause is None or is_last or not self.deadline.allows(pause):
            return None
        return pause

    def _require_time(self) -> None:
        self.deadline.require_caller()
        if not self.deadline.remaining():
            raise IntegrationFailure(f"{self._title} did not answer in time.")
        rest = breakers.rest(self._key)
        if rest:
            message = f"{self._title} is not responding. Try again {_format_delay(rest)}."
            raise IntegrationFailure(message)

    @property
    def _title(self) -> str:
        return registry.title(self.integration)

    @property
    def _key(self) -> tuple[UUID, str]:
        return self.organization_id, self.integration

    def _send_once(self, request: VendorRequest) -> VendorResponse | OutboundError:
        try:
            answer = wire.send_request(
                self.integration,
                request,
                self.deadline.remaining(),
                self.deadline.channel.is_cancelled,
            )
        except Unwanted:
            raise Cancelled from None
        except (TimedOut, Unreachable) as error:
            self._record_failure(str(_to_failure(self.integration, error)))
            return error
        except OutboundError as error:
            return error
        if answer.status >= HTTPStatus.INTERNAL_SERVER_ERROR:
            self._record_failure(f"{self._title} answered {answer.status}.")
        else:
            breakers.record_success(self._key)
        return answer

    def _record_failure(self, message: str) -> None:
        if breakers.record_failure(self._key):
            connection_status.record_silence(self._open().mode, message)

    def _check_answer(self, answer: VendorResponse) -> VendorResponse:
        failure = self.connection.judge(answer)
        if failure is None:
            connection_status.record_success(self._open().mode)
            return answer
        if failure.upstream_status is None:
            failure.upstream_status = answer.status
        # A vendor's sentence may repeat what it was sent.
        failure.message = mask_secrets(failure.message, [self._open().secret])
        failure.reason = mask_secrets(failure.reason, [self._open().secret])
        # A 403 refuses one request, not the credential (RFC 9110 sections 15.5.2 and 15.5.4).
        if isinstance(failure, Unauthorized) and answer.status != HTTPStatus.FORBIDDEN:
            connection_status.record_refusal(self._open().mode, failure.message)
        wait = requested_wait(self.connection, answer)
        if wait is not None:
            raise _busy(failure.message, wait, answer.status)
        raise failure


@dataclass(frozen=True, slots=True)
class OpenedCredential:
    """An organization's side of a connection, ready to be used."""

    secret: str = field(repr=False)
    mode: IntegrationMode


def _open_credential(organization_id: UUID, integration: str) -> OpenedCredential:
    credential = credentials.find_credential(organization_id, integration)
    if credential is None:
        raise IntegrationFailure(f"{registry.title(integration)} is not connected.")
    try:
        return OpenedCredential(credentials.read_secret(credential), credential.mode)
    except SealBroken as broken:
        _unreadable(credential.mode, broken)


def _unreadable(mode: IntegrationMode, broken: SealBroken) -> NoReturn:
    message = "The stored credential cannot be decrypted."
    connection_status.record_refusal(mode, message)
    raise IntegrationFailure(message) from broken


def _to_failure(integration: str, error: OutboundError) -> IntegrationFailure:
    failure = IntegrationFailure(f"{registry.title(integration)}: {error.reason}.")
    failure.__cause__ = error
    return failure


def _may_have_changed(request: VendorRequest, outcome: VendorResponse | OutboundError) -> bool:
    if request.method in SAFE:
        return False
    return isinstance(outcome, OutboundError) or outcome.status in retry.TRANSIENT


def _unclear(refusal: ToolFailure) -> IntegrationFailure:
    # Without a status: it is that of the last attempt, not of the attempts together.
    return IntegrationFailure(f"{refusal.message} {EARLIER}")


def _busy(message: str, wait: float, status: int) -> IntegrationFailure:
    return IntegrationFailure(f"{message} Try again {_format_delay(wait)}.", upstream_status=status)


def _format_delay(seconds: float) -> str:
    if seconds > DAY_SECONDS:
        return "later"
    whole = max(math.ceil(seconds), 1)
    return f"in {whole} second{'s' if whole > 1 else ''}"

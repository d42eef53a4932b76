"""Requests to a vendor in an organization's name, through the one guarded client.

All requests of a call share one deadline. A request that was rate limited is retried as its headers
say, a failed one if it may be repeated; a vendor that keeps failing is not called for a while. No
transaction is open and no lock is held while anything here waits.

A change is done, not done, or nobody knows: `explain_failure` says which with every failure.
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
    NotDone,
    NotFound,
    PermissionRefused,
    ToolFailure,
    Unauthorized,
    UpstreamOutcomeUnknown,
    ValidationFailure,
    VendorConnection,
    VendorResponse,
    unknown_outcome,
)
from tools_registry.api.readable import one_line
from tools_registry.api.vendor import NOTHING
from tools_registry.models import IntegrationMode
from tools_registry.vendors import connection_status, credentials, wire
from tools_registry.vendors.retries import (
    MAX_ATTEMPTS,
    MIN_REMAINING,
    CallDeadline,
    requested_wait,
    retry_delay,
)
from tools_registry.vendors.wire import VendorRequest

DAY_SECONDS: Final = 86_400
# The vendor has done nothing in these cases. After 408 it may have; 409 may mean that a request
# with the same key is running. What 307 and 308 redirect is to be sent to another address (RFC 9110
# section 15.4.8).
REFUSALS: Final = (frozenset(range(400, 500)) | {307, 308}) - {408, 409}
# How messages of `judge_status` begin, which knows no vendor by name.
UNNAMED: Final = "The vendor "
MAX_LOG_ID: Final = 200  # Stripe's is an address
NOTHING_CHANGED: Final = "Nothing was changed."
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
    _change: "SentChange | None" = field(default=None, init=False)

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
        is_read: bool = False,
        look_for: str = "",
    ) -> VendorResponse:
        request = wire.build_request(
            self.connection,
            self._open().secret,
            wire.place(self.integration, self.connection, path, query),
            method,
            json=json,
            form=form,
            idempotency_key=idempotency_key,
            is_read=is_read,
            look_for=look_for,
        )
        return self._check_answer(self._send_with_retries(request), request)

    def explain_failure(self, failure: ToolFailure) -> ToolFailure:
        """The failure of a call that changes something, with what became of the change.

        NotDone if nothing was done, UpstreamOutcomeUnknown if nobody knows. Arguments that are
        refused say enough by themselves.
        """
        change = self._change
        if change is None and not isinstance(failure, UpstreamOutcomeUnknown):
            return _with_nothing_changed(failure)
        if change is not None and change.is_answered and isinstance(failure, NotDone):
            return failure  # the tool has read so from the answer
        look_for = "" if change is None else change.look_for
        return UpstreamOutcomeUnknown(
            f"{failure.message} {unknown_outcome(self._title, look_for)}",
            upstream_status=failure.upstream_status,
        )

    def _open(self) -> "OpenedCredential":
        self._opened = self._opened or _open_credential(self.organization_id, self.integration)
        return self._opened

    def _send_with_retries(self, request: VendorRequest) -> VendorResponse:
        """The answer of the last try. Raises IntegrationFailure for no answer."""
        for tries in count(1):
            self._require_time(request)
            before = self._change
            if request.is_change:
                # First: whatever happens from here on, the vendor may carry it out.
                self._change = SentChange(request.look_for)
            outcome = self._send_once(request)
            if request.is_change and self._has_refused(outcome):
                self._change = before  # what an earlier try did is as unknown as it was
            pause = self._pause(request, outcome, tries)
            if pause is None:
                break
            self.deadline.wait(pause)
        if isinstance(outcome, OutboundError):
            raise _to_failure(self.integration, outcome)
        return outcome

    def _has_refused(self, outcome: VendorResponse | OutboundError) -> bool:
        """Whether a change was certainly not made by this try."""
        if isinstance(outcome, OutboundError):
            return not outcome.was_sent
        failure = self.connection.judge(outcome)
        if failure is None or isinstance(failure, UpstreamOutcomeUnknown):
            return False
        is_refusal = isinstance(failure, NotDone | NotFound | Unauthorized | ValidationFailure)
        return is_refusal or outcome.status in REFUSALS

    def _least_seconds(self, request: VendorRequest) -> float:
        """The seconds that must be left for a try."""
        if not request.is_change or self._change is not None:
            return MIN_REMAINING  # a change of unknown outcome gains by any further try
        return min(self.connection.change_seconds, self.connection.deadline / 2)

    def _pause(
        self, request: VendorRequest, outcome: VendorResponse | OutboundError, tries: int
    ) -> float | None:
        pause = None
        if isinstance(outcome, VendorResponse):
            pause = requested_wait(self.connection, outcome)
        if pause is None and request.repeatable:
            pause = retry_delay(outcome, tries)
        is_last = tries == MAX_ATTEMPTS or breakers.rest(self._key) > 0
        least = self._least_seconds(request)
        if pause is None or is_last or not self.deadline.allows(pause, least):
            return None
        return pause

    def _require_time(self, request: VendorRequest) -> None:
        self.deadline.require_caller()
        remaining = self.deadline.remaining()
        if not remaining:
            raise IntegrationFailure(f"{self._title} did not answer in time.")
        if request.is_change and self._change is None and remaining < self._least_seconds(request):
            raise NotDone(f"{self._title} was slow: too little time was left to make the change.")
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

    def _check_answer(self, answer: VendorResponse, request: VendorRequest) -> VendorResponse:
        failure = self.connection.judge(answer)
        if failure is None:
            connection_status.record_success(self._open().mode)
            if request.is_change:
                self._change = SentChange(request.look_for, is_answered=True)
            return answer
        if failure.upstream_status is None:
            failure.upstream_status = answer.status
        if failure.message.startswith(UNNAMED):
            failure.message = failure.message.replace(UNNAMED, f"{self._title} ", 1)
        failure.log_id = one_line(self.connection.log_id(answer), MAX_LOG_ID, otherwise="")
        if failure.log_id:
            message = f"{failure.message.rstrip('.')}. Log id at {self._title}: {failure.log_id}."
            failure.message = message
        # A vendor's sentence may repeat what it was sent.
        secrets = [self._open().secret]
        failure.message = mask_secrets(failure.message, secrets)
        failure.field = mask_secrets(failure.field, secrets)
        failure.reason = mask_secrets(failure.reason, secrets)
        failure.log_id = mask_secrets(failure.log_id, secrets)
        if isinstance(failure, Unauthorized) and not isinstance(failure, PermissionRefused):
            connection_status.record_refusal(self._open().mode, failure.message)
        wait = requested_wait(self.connection, answer)
        if wait is not None:
            raise _busy(failure.message, wait, answer.status)
        later = retry.retry_after(answer.headers)
        if later is not None and answer.status == HTTPStatus.SERVICE_UNAVAILABLE:
            failure.message += f" It takes requests again {_format_delay(later)}."
        raise failure


@dataclass(frozen=True, slots=True)
class SentChange:
    """The change that a call has sent and that the vendor has not refused."""

    look_for: str = field(repr=False)
    # Whether an answer says that it was made.
    is_answered: bool = False


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


def _with_nothing_changed(failure: ToolFailure) -> ToolFailure:
    if isinstance(failure, Unauthorized):
        failure.message = f"{failure.message} {NOTHING_CHANGED}"
        return failure
    if not isinstance(failure, IntegrationFailure):
        return failure
    message = f"{failure.message} {NOTHING_CHANGED}"
    return NotDone(message, upstream_status=failure.upstream_status)


def _busy(message: str, wait: float, status: int) -> IntegrationFailure:
    return IntegrationFailure(f"{message} Try again {_format_delay(wait)}.", upstream_status=status)


def _format_delay(seconds: float) -> str:
    if seconds > DAY_SECONDS:
        return "later"
    whole = max(math.ceil(seconds), 1)
    return f"in {whole} second{'s' if whole > 1 else ''}"

"""A request that is answered on a stream: notifications, questions to the client, the response.

A request that waits for an answer holds no thread and no database connection. A notification
resumes it, and it then reads the rows, so that a lost notification only delays it.
"""

import threading
import time
from collections.abc import Callable, Hashable, Mapping
from dataclasses import dataclass
from functools import partial
from typing import Any, Final, TypeAlias

import structlog
from django.conf import settings
from django.db import InterfaceError, OperationalError

from foundation.concurrency.concurrency_limit import ConcurrencyLimit
from mcp_protocol import envelope, input_requests
from mcp_protocol.errors import INTERNAL_ERROR, ProtocolError
from oauth import credentials
from oauth.principal import Principal, Unauthenticated
from tools_registry.api import ToolFailure
from tools_registry.endpoint import dispatch, elicitation, elicitation_store, rates, replies
from tools_registry.endpoint.dispatch import Waiting
from tools_registry.endpoint.http import (
    CLOSING_CANCELS,
    STREAM_HEADERS,
    CompleteAnswer,
    Emit,
    Stream,
    Suspend,
)
from tools_registry.endpoint.methods import MethodRequest
from tools_registry.endpoint.streams import cancellation
from tools_registry.endpoint.streams.streaming import StreamChannel, left_out_warning
from tools_registry.pipeline.invocation import (
    INTERRUPTED,
    OUTCOME_UNKNOWN,
    CallCancelled,
    PreparedCall,
)
from workspace import changes

log = structlog.get_logger(__name__)

# A client that answers without a person must not be sent questions without end.
MAX_QUESTIONS: Final = 20
# How often the rows are read although no notification came.
CHECK_SECONDS: Final = 10.0  # seconds
PROGRESS_STEP: Final = 0.001
# An answered call of a caller at its limit of running calls tries again this often.
RETRY_ACQUIRE_SECONDS: Final = 0.25  # seconds
# A guess at when one of them is over, for whom it is refused.
RETRY_AFTER: Final = 5  # seconds
NO_TOPICS: Final[frozenset[str]] = frozenset()

STOPS: Final = "The server is stopping and cannot wait for your response. Try again."
TOO_LATE: Final = "The question was not answered in time. Call the tool again to be asked again."

Outcome: TypeAlias = CompleteAnswer | Waiting | Suspend

# Streaming calls that run or wait for a thread, by person or key and by organization. Each has a
# part of all threads, so that none of them can use all.
OF_CALLER: Final = ConcurrencyLimit(per_key=lambda _: settings.HALO_STREAM_THREADS // 4)
OF_ORGANIZATION: Final = ConcurrencyLimit(per_key=lambda _: settings.HALO_STREAM_THREADS // 2)


class Unanswered(ToolFailure):
    """The client did not answer a question; the message gives the reason."""

    kind = "not_answered"


@dataclass(frozen=True, slots=True)
class SentQuestion:
    """A question that was sent: the id of each of its requests by key, and when it expires."""

    waiting: Waiting
    question_ids: Mapping[str, str]
    expires_at: float


def stream(request: MethodRequest, step: PreparedCall | Waiting) -> Stream:
    """The stream of a request; its last event is the response.

    Raises ProtocolError (429) when as many calls of its caller run on streams as may.
    """
    conversation = StreamConversation(request, step)
    if isinstance(step, PreparedCall) and not conversation.acquire():
        raise _too_many(request)
    request.forget()
    topic = cancellation.topic(request.authorization_id, request.terms, request.id)
    call = step if isinstance(step, PreparedCall) else step.question.call
    return Stream(
        STREAM_HEADERS,
        conversation.start,
        conversation.close,
        cancel_topic=topic,
        on_cancel=conversation.cancel,
        on_shutdown=conversation.stop,
        on_interrupt=conversation.interrupt,
        left_out=partial(left_out_warning, request.terms),
        pool="long" if isinstance(step, PreparedCall) else "quiet",
        changes=call.subject.mutates,
        on_abandon=conversation.unfinished_message,
    )


def acquire(caller: Hashable, organization_id: Hashable) -> bool:
    """Count one more running call of both; False, and nothing is counted, if one has too many."""
    if not OF_CALLER.acquire(caller):
        return False
    if OF_ORGANIZATION.acquire(organization_id):
        return True
    OF_CALLER.release(caller)
    return False


def release(caller: Hashable, organization_id: Hashable) -> None:
    OF_ORGANIZATION.release(organization_id)
    OF_CALLER.release(caller)


def _too_many(request: MethodRequest) -> ProtocolError:
    return rates.slot_limit_error(
        "You have too many streaming calls. Try again later.",
        most=settings.HALO_STREAM_THREADS // 4,
        wait=RETRY_AFTER,
        revision=request.revision,
        codes=request.surface.codes,
    )


class StreamConversation:
    """One request, and its client at the other end of the stream."""

    def __init__(self, request: MethodRequest, step: PreparedCall | Waiting) -> None:
        self._request = request
        self._first = step
        call = step if isinstance(step, PreparedCall) else step.question.call
        self._unfinished = OUTCOME_UNKNOWN if call.subject.mutates else INTERRUPTED
        # Published when the caller's token may have become invalid.
        self._changed = changes.topic(request.principal.organization_id)
        self._questions_sent = 0
        self._progress = 0.0
        self._cancelled = threading.Event()
        self._gone = threading.Event()
        self._stopping = threading.Event()
        self._interrupted = threading.Event()

    def stop(self) -> None:
        """The server stops: what waits for a person ends, what runs comes to its end."""
        self._stopping.set()

    def interrupt(self) -> None:
        """The server waits no longer: what runs is to stop at its next step."""
        self._interrupted.set()

    def cancel(self) -> None:
        """The client cancelled the request: the next step stops, and nothing more is sent."""
        self._cancelled.set()

    def unfinished_message(self) -> Mapping[str, Any] | None:
        """The response of a call that still runs when the server can wait no longer."""
        if self._cancelled.is_set():
            return None
        error = ProtocolError(INTERNAL_ERROR, self._unfinished)
        return envelope.failure(self._request.id, error)

    def close(self) -> None:
        """The client has gone; before 2026-07-28 a call that runs continues, and is recorded."""
        self._gone.set()
        if self._request.revision in CLOSING_CANCELS:
            self._cancelled.set()

    def acquire(self) -> bool:
        """Count one more running call of the caller; `_run` releases it."""
        who = self._request.principal
        return acquire(who.party, who.organization_id)

    def start(self, emit: Emit) -> Suspend | None:
        first = self._first
        if isinstance(first, Waiting):
            return self._step(emit, lambda _channel: first)
        return self._run(emit, partial(dispatch.run, self._request, first))

    def _run(self, emit: Emit, work: Callable[[StreamChannel], Outcome]) -> Suspend | None:
        def run_and_release(channel: StreamChannel) -> Outcome:
            try:
                return work(channel)
            finally:
                # Before the response is sent: a client that has it may call again at once.
                who = self._request.principal
                release(who.party, who.organization_id)

        return self._step(emit, run_and_release)

    def _step(self, emit: Emit, work: Callable[[StreamChannel], Outcome]) -> Suspend | None:
        channel = StreamChannel(self._request.terms, emit, self._cancelled, self._interrupted)
        try:
            outcome = work(channel)
            self._progress = max(self._progress, channel.sent_progress)
            if isinstance(outcome, Waiting):
                outcome = self._ask(outcome, channel)
        except Exception as error:
            log.exception("stream_failed", request_id=self._request.http.request_id)
            outcome = self._build_failure(error)
        if isinstance(outcome, Suspend):
            return outcome
        if isinstance(outcome, CompleteAnswer) and outcome.message is not None:
            channel.send(outcome.message)
        return None

    def _ask(self, waiting: Waiting, channel: StreamChannel) -> CompleteAnswer | Suspend:
        self._questions_sent += 1
        if self._questions_sent > MAX_QUESTIONS:
            return dispatch.end(waiting, Unanswered("The tool asked too many questions."))
        if elicitation_store.is_full(self._request.authorization_id):
            why = "This client has too many unanswered questions. Answer them first."
            return dispatch.end(waiting, Unanswered(why))
        requests = waiting.question.requests
        question_ids = elicitation_store.put(self._request.authorization_id, len(requests))
        for question_id, request in zip(question_ids, requests.values(), strict=True):
            channel.send(input_requests.server_request(question_id, request))
        expires_at = time.monotonic() + settings.HALO_ASK_SECONDS
        return self._suspend(
            SentQuestion(waiting, dict(zip(requests, question_ids, strict=True)), expires_at)
        )

    def _suspend(self, sent: SentQuestion) -> Suspend:
        topics = {
            elicitation_store.topic(question_id) for question_id in sent.question_ids.values()
        }
        left = max(sent.expires_at - time.monotonic(), 0)
        look = partial(self._check, sent)
        return Suspend(frozenset({*topics, self._changed}), min(left, CHECK_SECONDS), look)

    def _check(self, sent: SentQuestion, emit: Emit) -> Suspend | None:
        return self._step(emit, partial(self._collect, sent))

    def _report_wait(self, sent: SentQuestion, channel: StreamChannel) -> None:
        """Says that the call waits for a person: clients give up on a call that is silent.

        The steps are small, so that what the tool reports afterwards is more.
        """
        left = elicitation.duration(sent.expires_at - time.monotonic())
        message = f"Waiting for an answer: {left} left."
        channel.progress(self._progress + PROGRESS_STEP, None, message)

    def _collect(self, sent: SentQuestion, channel: StreamChannel) -> Outcome:
        ended = None
        try:
            found = elicitation_store.collect(sent.question_ids.values())
            # A token that has become invalid ends the wait.
            ended = self._invalid_token() if len(found) < len(sent.question_ids) else None
        except (OperationalError, InterfaceError) as error:
            # The database is away for a moment; the answer, if there is one, will be there later.
            log.warning("question_unread", error=type(error).__name__)
            found = {}
        why = self._failure(sent, found) or ended
        if why is None and len(found) < len(sent.question_ids):
            self._report_wait(sent, channel)
            return self._suspend(sent)
        elicitation_store.forget(sent.question_ids.values())
        if why is not None:
            return dispatch.end(sent.waiting, why)
        results = {key: found[one]["result"] for key, one in sent.question_ids.items()}
        return self._queue(sent.waiting, results)

    def _queue(self, waiting: Waiting, results: Mapping[str, Any]) -> Outcome:
        """Run the call again as soon as the caller has fewer running calls than its limit."""
        why = self._stop_reason()
        if why is not None:
            return dispatch.end(waiting, why)
        if self.acquire():
            resume = partial(self._resume, waiting, results)
            return Suspend(NO_TOPICS, 0, lambda emit: self._run(emit, resume), pool="long")
        return Suspend(
            NO_TOPICS, RETRY_ACQUIRE_SECONDS, partial(self._queue_again, waiting, results)
        )

    def _queue_again(
        self, waiting: Waiting, results: Mapping[str, Any], emit: Emit
    ) -> Suspend | None:
        return self._step(emit, lambda _channel: self._queue(waiting, results))

    def _failure(self, sent: SentQuestion, found: Mapping[str, Any]) -> ToolFailure | None:
        if self._cancelled.is_set():
            return CallCancelled()
        if any(answer["error"] is not None for answer in found.values()):
            return Unanswered("The client could not show you the question.")
        if len(found) == len(sent.question_ids):
            return None
        if self._gone.is_set():
            return CallCancelled()  # the client that could answer has disconnected
        late = time.monotonic() >= sent.expires_at
        return self._stop_reason() or (Unanswered(TOO_LATE) if late else None)

    def _stop_reason(self) -> ToolFailure | None:
        """Why the call is not run again, whatever the answers; None if it may be."""
        if self._cancelled.is_set():
            return CallCancelled()
        return Unanswered(STOPS) if self._stopping.is_set() else None

    def _invalid_token(self) -> Unanswered | None:
        who = self._recheck_caller()
        return who if isinstance(who, Unanswered) else None

    def _resume(
        self, waiting: Waiting, results: Mapping[str, Any], channel: StreamChannel
    ) -> CompleteAnswer | Waiting:
        who = self._recheck_caller()
        if isinstance(who, Unanswered):
            return dispatch.end(waiting, who)
        return dispatch.again(waiting, who, waiting.question.answers(results), channel)

    def _recheck_caller(self) -> Principal | Unanswered:
        """The principal of the token, or the refusal if it has expired or was revoked since."""
        try:
            who, accepted = self._request.principal, self._request.surface.credentials
            return credentials.recheck(who.credential, who.token_id, accepted)
        except Unauthenticated:
            return Unanswered("The token is no longer valid. Sign in again.")

    def _build_failure(self, error: Exception) -> CompleteAnswer:
        # The status has been sent: only a message can follow.
        failed = replies.from_exception(self._request.http.request_id, error)
        return CompleteAnswer(200, message=envelope.failure(self._request.id, failed))

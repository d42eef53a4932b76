"""A request on its own stream: what it says, what it asks and waits for, and its response last.

Waiting holds no thread and no connection: the edge wakes the conversation by a notice. What it
looks at then is rows, so that a lost notice costs some seconds and nothing else.
"""

import threading
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from functools import partial
from typing import Any, Final, TypeAlias
from uuid import UUID

import structlog
from django.conf import settings
from django.db import InterfaceError, OperationalError

from mcp_protocol import envelope, input_requests
from mcp_protocol.errors import INTERNAL_ERROR, ProtocolError
from mcp_protocol.revisions import Revision
from oauth import principal
from oauth.principal import Principal, Unauthenticated
from tools_registry import cancelling, dispatch, mailbox, rates
from tools_registry.call import FRESH_SECONDS
from tools_registry.dispatch import Answered, Caller, Runnable, Waiting
from tools_registry.exchange import STREAM_HEADERS, Emit, Pause, Stream
from tools_registry.interest import CLOSING_CANCELS
from tools_registry.places import STREAMING, shares
from tools_registry.streaming import StreamChannel, left_out
from tools_registry.types import Cancelled, ToolFailure
from workspace import changes

log = structlog.get_logger(__name__)

# A client that answers by itself must not be asked for ever.
MOST_ROUNDS: Final = 20
# In case that a notice gets lost.
LOOKS_EVERY: Final = 10.0  # seconds
# An answered call whose caller has its share of running ones looks this often for its turn.
QUEUES_FOR: Final = 0.25  # seconds
# A guess at when one of them is over, for whom it is refused.
RETRY_AFTER: Final = 5  # seconds
NO_TOPICS: Final[frozenset[str]] = frozenset()

STOPS: Final = "The server stops, and cannot wait for your answer. Try again."
TOO_LATE: Final = "The question was not answered in time."

Outcome: TypeAlias = Answered | Waiting | Pause


class Unanswered(ToolFailure):
    """What was asked stays without an answer; `reason` says why."""

    kind = "not_answered"


@dataclass(frozen=True, slots=True)
class Asked:
    """What went out: the question, the id of each request by its key, and when it is too late."""

    waiting: Waiting
    sent_as: Mapping[str, str]
    ends: float


@dataclass(frozen=True, slots=True)
class Known:
    """What is kept of a caller for as long as the stream is open."""

    authorization_id: UUID
    token_id: UUID
    request_id: str
    # What they may have of the threads, and the notice that their token may count no longer.
    shares: Mapping[UUID, int] = field(repr=False)
    changed: str


def stream(caller: Caller, step: Runnable | Waiting) -> Stream:
    """The stream of a request; its last event is the response.

    Raises ProtocolError (429) when as many calls of its caller run on streams as may.
    """
    conversation = Conversation(caller, step)
    if isinstance(step, Runnable) and not conversation.take_place():
        raise _too_many(caller.principal, step.terms.revision)
    topic = cancelling.topic(caller.principal.authorization_id, step.terms, step.request_id)
    return Stream(
        STREAM_HEADERS,
        conversation.start,
        conversation.close,
        cancel_topic=topic,
        on_cancel=conversation.cancel,
        on_shutdown=conversation.stop,
        on_interrupt=conversation.interrupt,
        left_out=partial(left_out, step.terms),
        pool="long" if isinstance(step, Runnable) else "quiet",
    )


def _too_many(who: Principal, revision: Revision) -> ProtocolError:
    return rates.crowded(
        "As many calls of yours run on streams as may at a time. Try again later.",
        most=shares(who)[who.authorization_id],
        wait=RETRY_AFTER,
        revision=revision,
    )


class Conversation:
    """One request, and its client at the other end of the stream."""

    def __init__(self, caller: Caller, step: Runnable | Waiting) -> None:
        # No more of the request than is needed: the bearer itself does not stay.
        who = caller.principal
        self._caller = Known(
            who.authorization_id,
            who.token_id,
            caller.request.request_id,
            shares(who),
            changes.topic(who.organization_id),
        )
        self._first = step
        self._as_of = who.as_of
        self._rounds = 0
        self._cancelled = threading.Event()
        self._gone = threading.Event()
        self._stopping = threading.Event()
        self._interrupted = threading.Event()

    def stop(self) -> None:
        """The server stops: what waits for a person ends, what runs comes to its end."""
        self._stopping.set()

    def interrupt(self) -> None:
        """The server waits no longer: what runs is to stop at its next step, and is told so."""
        self._interrupted.set()

    def cancel(self) -> None:
        """The client wants no answer any more: the next step stops, and nothing more is sent."""
        self._cancelled.set()

    def close(self) -> None:
        """The client has gone; before 2026-07-28 a call that runs goes on, and is recorded."""
        self._gone.set()
        if self._first.terms.revision in CLOSING_CANCELS:
            self._cancelled.set()

    def take_place(self) -> bool:
        """Take a place among the calls that run; whatever runs next gives it back."""
        return STREAMING.take(self._caller.shares)

    def start(self, emit: Emit) -> Pause | None:
        first = self._first
        if isinstance(first, Waiting):
            return self._step(emit, lambda _channel: first)
        return self._placed(emit, partial(self._started, first))

    def _placed(self, emit: Emit, work: Callable[[StreamChannel], Outcome]) -> Pause | None:
        def in_place(channel: StreamChannel) -> Outcome:
            try:
                return work(channel)
            finally:
                # Before the response is sent: whoever has it may call again at once.
                STREAMING.give_back(self._caller.shares)

        return self._step(emit, in_place)

    def _started(self, first: Runnable, channel: StreamChannel) -> Outcome:
        if time.monotonic() - self._as_of < FRESH_SECONDS:
            return dispatch.run(first, channel)
        # It had to wait for a thread: what let it in is asked again before anything is done.
        who = self._caller_now()
        if isinstance(who, Unanswered):
            return dispatch.refuse(first, who)
        return dispatch.anew(first, who, channel)

    def _step(self, emit: Emit, work: Callable[[StreamChannel], Outcome]) -> Pause | None:
        channel = StreamChannel(self._first.terms, emit, self._cancelled, self._interrupted)
        try:
            outcome = work(channel)
            if isinstance(outcome, Waiting):
                outcome = self._ask(outcome, channel)
        except Exception:
            log.exception("stream_failed", request_id=self._caller.request_id)
            outcome = self._broken()
        if isinstance(outcome, Pause):
            return outcome
        if isinstance(outcome, Answered) and outcome.message is not None:
            channel.send(outcome.message)
        return None

    def _ask(self, waiting: Waiting, channel: StreamChannel) -> Answered | Pause:
        self._rounds += 1
        if self._rounds > MOST_ROUNDS:
            return dispatch.end(waiting, Unanswered("It had to be asked too often."))
        if mailbox.is_full(self._caller.authorization_id):
            why = "Too many questions of this client wait for an answer. Answer them first."
            return dispatch.end(waiting, Unanswered(why))
        requests = waiting.question.requests
        question_ids = mailbox.put(self._caller.authorization_id, len(requests))
        for question_id, request in zip(question_ids, requests.values(), strict=True):
            channel.send(input_requests.server_request(question_id, request))
        ends = time.monotonic() + settings.HALO_ASK_SECONDS
        return self._pause(Asked(waiting, dict(zip(requests, question_ids, strict=True)), ends))

    def _pause(self, asked: Asked) -> Pause:
        topics = {mailbox.topic(question_id) for question_id in asked.sent_as.values()}
        left = max(asked.ends - time.monotonic(), 0)
        look = partial(self._look, asked)
        return Pause(frozenset({*topics, self._caller.changed}), min(left, LOOKS_EVERY), look)

    def _look(self, asked: Asked, emit: Emit) -> Pause | None:
        return self._step(emit, lambda _channel: self._looked(asked))

    def _looked(self, asked: Asked) -> Outcome:
        ended = None
        try:
            found = mailbox.collect(asked.sent_as.values())
            # Nobody is to be asked on for a token that counts no longer.
            ended = self._ended() if len(found) < len(asked.sent_as) else None
        except (OperationalError, InterfaceError) as error:
            # The database is away for a moment; the answer, if there is one, will be there later.
            log.warning("question_unread", error=type(error).__name__)
            found = {}
        why = self._hopeless(asked, found) or ended
        if why is None and len(found) < len(asked.sent_as):
            return self._pause(asked)
        mailbox.forget(asked.sent_as.values())
        if why is not None:
            return dispatch.end(asked.waiting, why)
        results = {key: found[sent]["result"] for key, sent in asked.sent_as.items()}
        return self._queue(asked.waiting, results)

    def _queue(self, waiting: Waiting, results: Mapping[str, Any]) -> Outcome:
        """Answered: go on as soon as the caller has a place among the calls that run."""
        why = self._over()
        if why is not None:
            return dispatch.end(waiting, why)
        if self.take_place():
            go_on = partial(self._go_on, waiting, results)
            return Pause(NO_TOPICS, 0, lambda emit: self._placed(emit, go_on), pool="long")
        return Pause(NO_TOPICS, QUEUES_FOR, partial(self._look_for_place, waiting, results))

    def _look_for_place(
        self, waiting: Waiting, results: Mapping[str, Any], emit: Emit
    ) -> Pause | None:
        return self._step(emit, lambda _channel: self._queue(waiting, results))

    def _hopeless(self, asked: Asked, found: Mapping[str, Any]) -> Unanswered | Cancelled | None:
        if self._cancelled.is_set():
            return Cancelled()
        if any(answer["error"] is not None for answer in found.values()):
            return Unanswered("The client could not put the question to you.")
        if len(found) == len(asked.sent_as):
            return None
        if self._gone.is_set():
            return Cancelled()  # nobody is left who could be asked
        late = time.monotonic() >= asked.ends
        return self._over() or (Unanswered(TOO_LATE) if late else None)

    def _over(self) -> Unanswered | Cancelled | None:
        """Why nothing more is begun, whatever was answered."""
        if self._cancelled.is_set():
            return Cancelled()
        return Unanswered(STOPS) if self._stopping.is_set() else None

    def _ended(self) -> Unanswered | None:
        who = self._caller_now()
        return who if isinstance(who, Unanswered) else None

    def _go_on(
        self, waiting: Waiting, results: Mapping[str, Any], channel: StreamChannel
    ) -> Answered | Waiting:
        who = self._caller_now()
        if isinstance(who, Unanswered):
            return dispatch.end(waiting, who)
        return dispatch.again(waiting, who, waiting.question.answered(results), channel)

    def _caller_now(self) -> Principal | Unanswered:
        """Who calls, or why not any more: a token may have ended, or been ended, since."""
        try:
            return principal.recheck(self._caller.token_id)
        except Unauthenticated:
            return Unanswered("The token is no longer valid. Sign in again.")

    def _broken(self) -> Answered:
        # The status has gone out: all that can still be told is a message.
        reference = self._caller.request_id
        error = ProtocolError(INTERNAL_ERROR, f"Internal error. Quote {reference} to your admin.")
        return Answered(envelope.failure(self._first.request_id, error))

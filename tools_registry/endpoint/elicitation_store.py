"""Questions that were sent on a stream, and the answers that any process receives.

A question is found by its id and the authorization it was sent under, so that no client can answer
the question of another. An answer is accepted once, before it expires, and stored encrypted.
"""

import json
from collections.abc import Iterable
from datetime import timedelta
from typing import Any, Final
from uuid import UUID

from django.conf import settings
from django.utils import timezone

from foundation import ids, pubsub, sealing
from mcp_protocol.envelope import JsonRpcResponse
from mcp_protocol.errors import INVALID_REQUEST, ProtocolError
from tools_registry.models import Question

# Of one authorization: each holds a stream and a call in memory for as long as it is open.
MAX_OPEN: Final = 20
# Of an answer, which lies in a row until its call has read it: room for a picture of a model.
MAX_BYTES: Final = 262_144


def topic(question_id: str) -> str:
    """What is posted once a question is answered."""
    return f"question:{question_id}"


def is_full(authorization_id: UUID) -> bool:
    """Whether so many questions of a client are open that it gets no further one."""
    open_ones = Question.objects.filter(
        authorization_id=str(authorization_id), expires_at__gt=timezone.now()
    )
    return open_ones.count() >= MAX_OPEN


def put(authorization_id: UUID, how_many: int) -> list[str]:
    """Remember so many questions; returns the ids to ask them under."""
    until = timezone.now() + timedelta(seconds=settings.HALO_ASK_SECONDS)
    asked = [
        Question(id=ids.opaque("ask_"), authorization_id=str(authorization_id), expires_at=until)
        for _ in range(how_many)
    ]
    Question.objects.bulk_create(asked)
    return [question.id for question in asked]


def deliver(authorization_id: UUID, response: JsonRpcResponse) -> None:
    """Keep the answer to a question that this authorization was asked, if it is still open.

    Raises ProtocolError (413) for one that is too large to be kept.
    """
    written = json.dumps({"result": response.result, "error": response.error}).encode()
    if len(written) > MAX_BYTES:
        message = f"The response exceeds {MAX_BYTES} bytes."
        raise ProtocolError(INVALID_REQUEST, message, http_status=413)
    if not isinstance(response.id, str):
        return
    still_open = Question.objects.filter(
        id=response.id,
        authorization_id=str(authorization_id),
        sealed_answer__isnull=True,
        expires_at__gt=timezone.now(),
    )
    # In one statement, so that of two answers the first counts.
    if still_open.update(sealed_answer=sealing.seal(written, context=_context(response.id))):
        pubsub.publish(topic(response.id))


def collect(question_ids: Iterable[str]) -> dict[str, Any]:
    """The answers so far, by question; each is `{"result": ..., "error": ...}`."""
    answered = Question.objects.filter(id__in=list(question_ids), sealed_answer__isnull=False)
    return {
        question.id: json.loads(
            sealing.unseal(bytes(question.sealed_answer or b""), context=_context(question.id))
        )
        for question in answered
    }


def forget(question_ids: Iterable[str]) -> None:
    """Delete questions: later answers to them are ignored."""
    Question.objects.filter(id__in=list(question_ids)).delete()


def _context(question_id: str) -> bytes:
    return b"tools_registry.question:" + question_id.encode()

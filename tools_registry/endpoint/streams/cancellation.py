"""`notifications/cancelled`: how it finds its call, in whichever process that runs.

A call with a stream listens under a name that only its own client can say: the authorization, the
session, and the id of the request. Source: MCP 2025-11-25, basic/utilities/cancellation.
"""

import json
from uuid import UUID

from foundation import ids, pubsub
from mcp_protocol.envelope import JsonRpcNotification, RequestId, as_id
from mcp_protocol.negotiation import Terms
from mcp_protocol.revisions import HANDSHAKE

METHOD = "notifications/cancelled"


def topic(authorization_id: UUID, terms: Terms, request_id: RequestId) -> str:
    """What is posted when this request is cancelled; empty where closing its stream says so."""
    if terms.revision not in HANDSHAKE:
        return ""
    # As JSON, so that the id 1 is not the id "1".
    named = json.dumps([str(authorization_id), terms.session, request_id])
    return f"cancel:{ids.sha256_hex(named)}"


def take(authorization_id: UUID, terms: Terms, notification: JsonRpcNotification) -> None:
    """Wake the call that a client cancels; what runs no more, and never did, stays quiet."""
    request_id = as_id(notification.params.get("requestId"))
    if notification.method == METHOD and request_id is not None:
        named = topic(authorization_id, terms, request_id)
        if named:
            pubsub.publish(named)

"""What the card of a request shows, for clients that show MCP Apps (`_meta.approval` of a result).

It is what the page of the request shows its approver, cut where it is long: the call in full is on
that page, where it is decided. Declared secrets are masked in both.
"""

from collections.abc import Mapping
from itertools import islice
from typing import Any, Final

from approvals import masked_arguments
from approvals.models import ApprovalRequest
from mcp_protocol import meta_keys

MAX_ARGUMENTS: Final = 20
MAX_TEXT: Final = 600
MAX_HEAD: Final = 1_000


def result_meta(row: ApprovalRequest, *, url: str, deciders: str, **more: str) -> dict[str, Any]:
    """Returns the `_meta` of the result of a call that waits for this request.

    The card is drawn from this alone, never from the content of a result, which an API may have
    written. `url` is the page on which a person decides, `deciders` says who may. `more` are
    `project`, and `request`, the head of what is sent.
    """
    shown = masked_arguments.mask_request(row)
    listed = islice(shown.values, MAX_ARGUMENTS)
    card = {
        "status": row.current_status,
        "summary": row.summary,
        "arguments": [_argument(shown, name) for name in listed],
        "omitted": max(0, len(shown.values) - MAX_ARGUMENTS),
        "deciders": deciders,
        "expiresAt": row.expires_at.isoformat(timespec="seconds"),
        "url": url,
        "isRequestCut": len(more.get("request", "")) > MAX_HEAD,
        **{name: text[:MAX_HEAD] for name, text in more.items() if text},
    }
    return {meta_keys.APPROVAL: card}


def _argument(shown: masked_arguments.MaskedArguments, name: str) -> Mapping[str, Any]:
    text = shown.text(name)
    return {
        "name": name[:MAX_TEXT],
        "text": text[:MAX_TEXT],
        "isCut": len(text) > MAX_TEXT,
        "isDeclared": shown.is_declared(name),
    }

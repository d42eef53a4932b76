"""Decisions on authorization requests: each is made once, and its redirect repeated for a minute.

A form that is submitted twice (a double click, a reload) gets the first redirect. Its code is
stored sealed until the clean-up empties the column. Why: docs/decisions/0036-repeated-consent.md.
"""

from datetime import timedelta
from typing import Final
from uuid import UUID

from django.conf import settings
from django.utils import timezone

from foundation import sealing
from oauth.grants import authorizations
from oauth.models import Authorization, AuthorizationRequest
from workspace.models import User

REPEAT_SECONDS: Final = 60  # how long a second submit gets the first redirect

Outcome = AuthorizationRequest.Outcome


def close(asked: AuthorizationRequest, outcome: Outcome) -> bool:
    """Records the outcome of an open request; returns False if it was decided before."""
    still_open = AuthorizationRequest.objects.filter(pk=asked.pk, decided_at__isnull=True)
    return bool(still_open.update(decided_at=timezone.now(), outcome=outcome))


def keep_code(asked: AuthorizationRequest, authorization: Authorization, code: str) -> None:
    """Stores the code of an approved request, sealed, for repeated submits."""
    sealed = sealing.seal(code.encode(), context=context_of(asked))
    rows = AuthorizationRequest.objects.filter(pk=asked.pk)
    rows.update(authorization=authorization, sealed_code=sealed)


def repeated_code(asked: AuthorizationRequest) -> str | None:
    """Returns the code of a request approved a moment ago; None if it may not be repeated."""
    # A code that has expired is of no use to the client.
    valid = timedelta(seconds=settings.HALO_CODE_SECONDS)
    if not is_recent(asked, valid) or asked.sealed_code is None or not is_connected(asked):
        return None
    return sealing.unseal(bytes(asked.sealed_code), context=context_of(asked)).decode()


def is_recent(asked: AuthorizationRequest, limit: timedelta = timedelta.max) -> bool:
    """Returns whether the decision is recent enough to be repeated, and within `limit`."""
    if asked.decided_at is None:
        return False
    age = timezone.now() - asked.decided_at
    return age < min(limit, timedelta(seconds=REPEAT_SECONDS))


def is_connected(asked: AuthorizationRequest) -> bool:
    """Returns whether the connection created by an approval is active."""
    root = asked.authorization_id
    return root is not None and authorizations.is_usable(root)


def context_of(asked: AuthorizationRequest) -> bytes:
    """Returns the sealing context of the code: the column and the row."""
    return f"oauth.authorizationrequest:{asked.pk}:code".encode()


def find_open_of_another(request_id: UUID, user: User) -> AuthorizationRequest | None:
    """Returns an open request that another user was shown in this or another browser."""
    rows = AuthorizationRequest.objects.select_related("client", "user").exclude(user=user)
    return rows.filter(pk=request_id, outcome="", expires_at__gt=timezone.now()).first()

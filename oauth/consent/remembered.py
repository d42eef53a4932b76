"""Remembered consents: stored, found and deleted.

A remembered consent is used for one request only: the same user, client, redirect URI, scopes and
resource. It belongs to an authorization and adds nothing to it, so that revoking or narrowing that
connection ends it too. Why: docs/decisions/0012-remembered-consent.md.
"""

import json
from collections.abc import Mapping
from datetime import datetime, timedelta
from typing import Any, Final

from django.conf import settings
from django.utils import timezone

from foundation import ids
from oauth import scopes
from oauth.clients import redirects
from oauth.grants import grant_conditions
from oauth.models import Authorization, AuthorizationRequest, Client, RememberedConsent

# Anybody can register dynamically under any name: their consents are not remembered.
SOURCES: Final = frozenset({Client.RegistrationSource.MANUAL, Client.RegistrationSource.CIMD})


def may_be_kept(client: Client, redirect_uri: str) -> bool:
    """Returns whether consent to this client at this redirect URI may be remembered.

    Only if the response goes to a web site. At a loopback port or an app's scheme, any program on
    the device can impersonate the client, and only the user can notice. Source: RFC 8252 section
    8.6, RFC 6749 section 10.2.
    """
    return (
        settings.HALO_REMEMBER_CONSENT_DAYS > 0
        and client.registration_source in SOURCES
        and redirects.describe(redirect_uri).kind == "web"
    )


def keep(authorization: Authorization, asked: AuthorizationRequest) -> None:
    """Stores that exactly this request was approved, and the digest of its circumstances."""
    RememberedConsent.objects.create(
        authorization=authorization,
        redirect_uri=asked.redirect_uri,
        scope=_as_a_set(asked.scope),
        circumstances_sha256=_circumstances(authorization),
        expires_at=timezone.now() + _lifetime(),
    )


def find(asked: AuthorizationRequest) -> Authorization | None:
    """Returns the authorization under which this request may be approved without the page."""
    if not may_be_kept(asked.client, asked.redirect_uri):
        return None
    active = RememberedConsent.objects.filter(grant_conditions.active("authorization__"))
    rows = active.filter(**_exactly(asked)).order_by("-pk")
    found = rows.select_related("authorization__client", "authorization__user")
    return next((row.authorization for row in found if _holds(row, row.authorization)), None)


def forget(asked: AuthorizationRequest) -> None:
    """Deletes the remembered consent of this request after a new decision."""
    RememberedConsent.objects.filter(**_exactly(asked)).delete()


def find_expiry(authorization: Authorization) -> datetime | None:
    """Returns until when an active authorization's client is approved without the page, or None."""
    row: RememberedConsent | None = getattr(authorization, "remembered", None)
    return _end(row, authorization) if row and _holds(row, authorization) else None


def drop(authorization: Authorization) -> bool:
    """Deletes the remembered consent of an authorization; returns False if there was none."""
    rows = RememberedConsent.objects.filter(authorization=authorization)
    return bool(rows.delete()[0])


def _exactly(asked: AuthorizationRequest) -> Mapping[str, Any]:
    return {
        "authorization__user": asked.user_id,
        "authorization__client": asked.client_id,
        "authorization__resource": asked.resource,
        "redirect_uri": asked.redirect_uri,
        "scope": _as_a_set(asked.scope),
    }


def _as_a_set(scope: str) -> str:
    return " ".join(sorted(map(str, scopes.parse(scope))))


def _holds(row: RememberedConsent, root: Authorization) -> bool:
    return (
        may_be_kept(root.client, row.redirect_uri)
        and timezone.now() < _end(row, root)
        and row.circumstances_sha256 == _circumstances(root)
    )


def _end(row: RememberedConsent, root: Authorization) -> datetime:
    # The duration shown on the page is a maximum, and a shorter setting applies at once.
    return min(row.expires_at, root.created_at + _lifetime())


def _lifetime() -> timedelta:
    return timedelta(days=settings.HALO_REMEMBER_CONSENT_DAYS)


def _circumstances(root: Authorization) -> str:
    """Returns a digest of what the page showed of the client, of the user and of the scope.

    It is compared with the stored one at each request, so that any change ends the remembered
    consent, independent of who made it.
    """
    facts = [
        root.client.client_id,
        root.client.registration_source,
        root.client.name,
        root.client.redirect_uris,
        root.client.auth_method,
        root.scope,
        root.user.get_session_auth_hash(),  # a changed password changes the digest
    ]
    return ids.sha256_hex(json.dumps(facts))

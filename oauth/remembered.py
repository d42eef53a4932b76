"""Consents that a person does not want to be asked for again: kept, found and forgotten.

A remembered consent answers one request only: the same person, client, redirect address, scopes
and resource. It lives on the authorization it was given with and adds nothing to it, so that ending
or narrowing that connection ends it too. Why: docs/decisions/0012-remembered-consent.md.
"""

import json
from collections.abc import Mapping
from datetime import datetime, timedelta
from typing import Any, Final

from django.conf import settings
from django.utils import timezone

from foundation import ids
from oauth import redirects, scopes
from oauth.authorizations import STANDING
from oauth.models import Authorization, AuthorizationRequest, Client, RememberedConsent

# Anybody registers dynamically, under any name: those are asked for every time.
SOURCES: Final = frozenset({Client.RegistrationSource.MANUAL, Client.RegistrationSource.CIMD})


def may_be_kept(client: Client, redirect_uri: str) -> bool:
    """Tell whether consent to this client at this redirect address may be remembered.

    Only where the answer goes to a web site. At a loopback port or an app's scheme any program on
    the device can pose as the client, and nothing but the person's eyes is in its way. Source:
    RFC 8252 section 8.6, RFC 6749 section 10.2.
    """
    return (
        settings.HALO_REMEMBER_CONSENT_DAYS > 0
        and client.registration_source in SOURCES
        and redirects.describe(redirect_uri).kind == "web"
    )


def keep(authorization: Authorization, asked: AuthorizationRequest) -> None:
    """Remember that exactly this request was approved, and how things stood then."""
    RememberedConsent.objects.create(
        authorization=authorization,
        redirect_uri=asked.redirect_uri,
        scope=_as_a_set(asked.scope),
        circumstances_sha256=_circumstances(authorization),
        expires_at=timezone.now() + _lifetime(),
    )


def find(asked: AuthorizationRequest) -> Authorization | None:
    """Return the authorization under which this request may be answered without asking."""
    if not may_be_kept(asked.client, asked.redirect_uri):
        return None
    rows = RememberedConsent.objects.filter(**_exactly(asked), **STANDING).order_by("-pk")
    chained = rows.select_related("authorization__client", "authorization__user")
    return next((row.authorization for row in chained if _holds(row, row.authorization)), None)


def forget(asked: AuthorizationRequest) -> None:
    """Forget what was remembered of this request: the person has decided on it anew."""
    RememberedConsent.objects.filter(**_exactly(asked)).delete()


def until(authorization: Authorization) -> datetime | None:
    """Return until when the client of a living authorization is let in without asking, if it is."""
    row: RememberedConsent | None = getattr(authorization, "remembered", None)
    return _end(row, authorization) if row and _holds(row, authorization) else None


def drop(authorization: Authorization) -> bool:
    """Forget what is remembered on one authorization; False where nothing was."""
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
    # The promise on the page is not outlived, and a setting that was shortened since holds at once.
    return min(row.expires_at, root.created_at + _lifetime())


def _lifetime() -> timedelta:
    return timedelta(days=settings.HALO_REMEMBER_CONSENT_DAYS)


def _circumstances(root: Authorization) -> str:
    """One digest of all that the page said of the client, and of who said yes to how much.

    Compared with what is stored at the time of a request, so that it does not matter who changed
    something, or whether they knew that a consent was remembered.
    """
    facts = [
        root.client.client_id,
        root.client.registration_source,
        root.client.name,
        root.client.redirect_uris,
        root.client.auth_method,
        root.scope,
        root.user.get_session_auth_hash(),  # another password is another one
    ]
    return ids.sha256_hex(json.dumps(facts))

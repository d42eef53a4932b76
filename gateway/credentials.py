"""What calls to the API of a project are authenticated with: sealed, write-only, for one host.

A credential belongs to a person or to the project, and to one security scheme of the document. It
is entered for the origins that the project's calls go to at that moment, and is used for no other.
"""

import base64
import json
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Final, TypeAlias
from urllib.parse import quote, urlencode
from uuid import UUID

from django.db import transaction
from django.db.models import QuerySet
from django.utils.translation import gettext as _

from audit import record
from foundation import ids, sealing
from foundation.db.statements import Statement
from foundation.ids import uuid7
from foundation.peer import UNKNOWN
from foundation.resealing import SealedColumn
from foundation.sealing import SealBroken
from gateway import servers
from gateway.models import Authentication, Project, ProjectTool, UpstreamCredential
from gateway.openapi.shapes import OpenApiOperation, Scheme, from_json
from gateway.outbound_policy import origin
from workspace.models import User

CONTEXT: Final = "gateway.upstreamcredential"
MAX_SECRET_LENGTH: Final = 8_192
# What a header value may contain (RFC 9110 section 5.5, ASCII only); no space at either end.
VISIBLE: Final = re.compile(r"[!-~](?:[ -~]*[!-~])?", re.ASCII)
# Offered where a document declares no security scheme at all.
BEARER: Final = Scheme(name="bearer", kind="bearer", prefix="Bearer ")
# An access token of OAuth 2 is entered as a person got it from the API, and is not refreshed.
SUPPORTED: Final = frozenset({"bearer", "basic", "api_key", "oauth2"})
# What people copy in front of a token.
COPIED_PREFIX: Final = re.compile(r"bearer +", re.IGNORECASE)
OF_CALLER: Final = Statement("""
SELECT id, scheme, sealed, state FROM gateway_upstreamcredential
 WHERE project_id = %s AND user_id = %s
""")
OF_PROJECT: Final = Statement("""
SELECT id, scheme, sealed, state FROM gateway_upstreamcredential
 WHERE project_id = %s AND user_id IS NULL
""")


class InvalidSecret(Exception):
    """A secret cannot be sent; the message is for the person who entered it."""


class MissingCredential(Exception):
    """A call needs a credential that nobody has entered; `schemes` are the names of the nearest."""

    def __init__(self, schemes: Sequence[str]) -> None:
        super().__init__(", ".join(schemes))
        self.schemes = schemes


@dataclass(frozen=True, slots=True)
class StoredCredential:
    """One stored credential of a call; `state` is the one that its row has."""

    id: UUID
    scheme: str
    state: str
    sealed: bytes = field(repr=False)


OpenedAlternative: TypeAlias = list[tuple[Scheme, StoredCredential, Mapping[str, Any]]]


@dataclass(slots=True)
class CallAuthentication:
    """What a request is authenticated with; header names in lower case."""

    headers: dict[str, str] = field(default_factory=dict, repr=False)
    query: list[tuple[str, str]] = field(default_factory=list, repr=False)
    cookies: list[tuple[str, str]] = field(default_factory=list, repr=False)
    body: dict[str, str] = field(default_factory=dict, repr=False)
    used: list[StoredCredential] = field(default_factory=list)
    # As the answer might repeat them.
    secrets: list[str] = field(default_factory=list, repr=False)

    def target(self, target: str) -> str:
        """Returns a path with its query and the keys that go into the query."""
        if not self.query:
            return target
        return f"{target}{'&' if '?' in target else '?'}{urlencode(self.query, quote_via=quote)}"

    def has_keys(self, url: str) -> bool:
        """Returns whether the URL of a response, perhaps redirected, has the keys of the query."""
        return all(urlencode([pair], quote_via=quote) in url for pair in self.query)


def schemes_of(project: Project) -> list[Scheme]:
    """Returns the security schemes that the tools of a project use, by name."""
    rows = ProjectTool.objects.filter(project=project, is_present=True)
    found = {
        scheme.name: scheme
        for stored in rows.values_list("operation", flat=True)
        for alternative in from_json(stored).security
        for scheme in alternative
    }
    return [found[name] for name in sorted(found)] or [BEARER]


def is_supported(scheme: Scheme) -> bool:
    return scheme.kind in SUPPORTED


def list_stored(project: Project, user: User | None) -> QuerySet[UpstreamCredential]:
    """Returns the credentials of a person for a project, or those of the project itself."""
    return UpstreamCredential.objects.filter(project=project, user=user)


@transaction.atomic
def store(
    project: Project, user: User | None, scheme: Scheme, secret: str, *, username: str = ""
) -> UpstreamCredential:
    """Seals a credential in place of the one that was there. Raises InvalidSecret."""
    if scheme.kind in {"bearer", "oauth2"}:
        secret = COPIED_PREFIX.sub("", secret, count=1) if COPIED_PREFIX.match(secret) else secret
    if not secret or len(secret) > MAX_SECRET_LENGTH or not VISIBLE.fullmatch(secret):
        raise InvalidSecret(_("Enter a secret of visible ASCII characters."))
    if scheme.kind == "basic" and not _is_user_name(username):
        raise InvalidSecret(_("Enter a user name without a colon."))
    list_stored(project, user).filter(scheme=scheme.name).delete()
    # A new row each time: the seal holds the row's id, and an old copy opens in no other row.
    row = UpstreamCredential(id=uuid7(), project=project, user=user, scheme=scheme.name)
    # `origin` is read by earlier versions of this server.
    content = {
        "origin": origin(project.target_url),
        "origins": servers.origins(project),
        "username": username,
        "secret": secret,
    }
    row.sealed = sealing.seal(json.dumps(content).encode(), context=_context(row.pk))
    row.save(force_insert=True)
    return row


def is_readable(row: UpstreamCredential) -> bool:
    """Returns whether a credential can be decrypted; if not, calls are refused as without one."""
    return sealing.is_readable(bytes(row.sealed), context=_context(row.pk))


def forget(project: Project, user: User | None, scheme: str) -> bool:
    """Deletes a credential; returns whether there was one."""
    return bool(list_stored(project, user).filter(scheme=scheme).delete()[0])


def record_change(
    change: str, project: Project, owner: User | None, by: User, address: str
) -> None:
    """Records that a credential was stored or removed."""
    whose = "of a person" if owner else "of the project"
    record.security_event(
        "upstream_credential_changed",
        address=address,
        subject=project.pk,
        organization_id=str(project.organization_id),
        user_id=str(by.pk),
        detail=f"{change}: {whose}",
    )


def select_authentication(
    project_id: str, user_id: UUID, operation: OpenApiOperation, base_url: str, authentication: str
) -> CallAuthentication:
    """Returns what one call to a URL is authenticated with: the first alternative that is complete.

    Raises MissingCredential if there is none.
    """
    made = CallAuthentication()
    for scheme, one, content in _open_first(
        project_id, user_id, operation, base_url, authentication
    ):
        _apply(made, scheme, content)
        made.used.append(one)
    return made


def find_missing(
    project_id: str, user_id: UUID, operation: OpenApiOperation, base_url: str, authentication: str
) -> Sequence[str]:
    """Returns the schemes that a call would lack a credential for, none if it could be sent."""
    try:
        _open_first(project_id, user_id, operation, base_url, authentication)
    except MissingCredential as missing:
        return missing.schemes
    return ()


def mark_refused(one: StoredCredential, organization_id: UUID) -> None:
    """Notes that the API did not accept a credential."""
    rows = UpstreamCredential.objects.filter(pk=one.id)
    if rows.exclude(state=UpstreamCredential.State.REFUSED).update(
        state=UpstreamCredential.State.REFUSED
    ):
        record.security_event(
            "upstream_credential_refused",
            address=UNKNOWN,
            subject=str(one.id),
            organization_id=str(organization_id),
        )


def works(one: StoredCredential) -> None:
    """Notes that the API accepted a credential; costs nothing if that is known."""
    if one.state != UpstreamCredential.State.WORKS:
        UpstreamCredential.objects.filter(pk=one.id).update(state=UpstreamCredential.State.WORKS)


def _load_by_scheme(
    project_id: str, user_id: UUID, authentication: str
) -> dict[str, StoredCredential]:
    if authentication == Authentication.PERSON:
        rows = OF_CALLER.rows(project_id, user_id)
    else:
        rows = OF_PROJECT.rows(project_id)
    return {
        scheme: StoredCredential(ids.from_row(key), scheme, state, bytes(sealed))
        for key, scheme, sealed, state in rows
    }


def _open_first(
    project_id: str, user_id: UUID, operation: OpenApiOperation, base_url: str, authentication: str
) -> OpenedAlternative:
    """The secrets of the first alternative that is complete. Raises MissingCredential."""
    if authentication == Authentication.NONE:
        return []
    by_scheme = _load_by_scheme(project_id, user_id, authentication)
    alternatives = operation.security or ((BEARER,), ())
    for alternative in alternatives:
        opened = _open_alternative(alternative, by_scheme, base_url)
        if opened is not None:
            return opened
    raise MissingCredential([scheme.name for scheme in alternatives[0]])


def _open_alternative(
    alternative: Sequence[Scheme], by_scheme: Mapping[str, StoredCredential], base_url: str
) -> OpenedAlternative | None:
    """The secrets of an alternative, or None if one of them is missing."""
    found = []
    for scheme in alternative:
        one = by_scheme.get(scheme.name)
        content = _content(one, base_url) if one and is_supported(scheme) else None
        if one is None or content is None:
            return None
        found.append((scheme, one, content))
    return found


def _content(one: StoredCredential, base_url: str) -> Mapping[str, Any] | None:
    """The opened credential; None if it was entered for another host or cannot be opened."""
    try:
        opened = sealing.unseal(one.sealed, context=_context(one.id))
    except SealBroken:
        return None
    content: Mapping[str, Any] = json.loads(opened)
    accepted = content.get("origins", [content["origin"]])
    return content if origin(base_url) in accepted else None


def _apply(made: CallAuthentication, scheme: Scheme, content: Mapping[str, Any]) -> None:
    secret = content["secret"]
    made.secrets.append(secret)
    if scheme.kind == "basic":
        pair = base64.b64encode(f"{content['username']}:{secret}".encode()).decode()
        made.secrets.append(pair)
        made.headers["authorization"] = f"Basic {pair}"
    elif scheme.kind == "bearer":
        made.headers["authorization"] = f"Bearer {secret}"
    elif scheme.place == "query":
        made.query.append((scheme.parameter, secret))
    elif scheme.place == "cookie":
        # Quoted as a parameter of a URL is: a semicolon would begin another cookie.
        made.cookies.append((scheme.parameter, quote(secret, safe="!#$%&'()*+-./:<=>?@[]^_`{|}~")))
    elif scheme.place == "body":
        made.body[scheme.parameter] = secret
    else:
        made.headers[scheme.parameter.lower()] = f"{scheme.prefix}{secret}"


def _is_user_name(text: str) -> bool:
    # RFC 7617 section 2: a user name has no colon.
    return ":" not in text and bool(VISIBLE.fullmatch(text)) and len(text) <= MAX_SECRET_LENGTH


def _reseal(row: UpstreamCredential, sealed: bytes) -> None:
    UpstreamCredential.objects.filter(pk=row.pk).update(sealed=sealed)


def _context(key: UUID) -> bytes:
    return f"{CONTEXT}:{key}".encode()


SEALED: Final = SealedColumn(
    name="credentials for APIs of projects",
    rows=lambda: UpstreamCredential.objects.only("sealed"),
    read=lambda row: bytes(row.sealed),
    write=_reseal,
    context=lambda row: _context(row.pk),
)

"""One request to a vendor: how it is written, where it goes, and how its answer is read."""

import json as stdlib_json
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any
from urllib.parse import urlencode, urlsplit

from django.conf import settings as project

from foundation import json_text, outbound
from foundation.db.storable import escape_unstorable
from foundation.outbound import OutboundReply, Policy, retry
from foundation.outbound.deadline import always_wanted
from tools_registry import registry
from tools_registry.api import IntegrationFailure, Json, VendorConnection, VendorResponse


@dataclass(frozen=True, slots=True, kw_only=True)
class VendorRequest:
    """A request that is ready to go. `repeatable`: doing it twice is doing it once.

    `is_change`: it changes something at the vendor; `look_for` says what.
    """

    method: str
    url: str = field(repr=False)
    headers: Mapping[str, str] = field(repr=False)
    body: bytes | None = field(repr=False)
    repeatable: bool
    is_change: bool
    look_for: str


def build_request(
    connection: VendorConnection,
    secret: str,
    place: str,
    method: str,
    *,
    json: Json,
    form: Mapping[str, str],
    idempotency_key: str,
    is_read: bool,
    look_for: str,
) -> VendorRequest:
    """The request as the connection has it look; `place` is its URL."""
    headers, body = _content(json, form)
    headers.update(connection.headers)
    headers.update(connection.authorization(secret))
    has_key = bool(idempotency_key and connection.idempotency_header)
    if has_key:
        headers[connection.idempotency_header] = idempotency_key
    repeatable = has_key or method in retry.IDEMPOTENT
    return VendorRequest(
        method=method,
        url=place,
        headers=headers,
        body=body,
        repeatable=repeatable,
        is_change=not is_read and method not in retry.SAFE,
        look_for=look_for,
    )


def place(
    integration: str, connection: VendorConnection, path: str, query: Mapping[str, str]
) -> str:
    """The URL of a path below the vendor's base. Raises IntegrationFailure for one that leaves it.

    Without its slash a path would lengthen the host, and the credential would go there.
    """
    if not path.startswith("/") or {".", ".."} & set(path.split("/")):
        raise IntegrationFailure(
            f"The request to {registry.title(integration)} has an invalid path."
        )
    asked = f"?{urlencode(query)}" if query else ""
    return f"{base_url(integration, connection)}{path}{asked}"


def base_url(integration: str, connection: VendorConnection) -> str:
    """Where the vendor is: its public address, or what HALO_VENDOR_URLS says instead."""
    return str(project.HALO_VENDOR_URLS.get(integration, connection.base_url)).rstrip("/")


def send_request(
    integration: str, request: VendorRequest, seconds: float, has_left: Callable[[], bool]
) -> VendorResponse:
    """Send it once, within so many seconds. Raises OutboundError, IntegrationFailure.

    A read is given up once its caller has left. A write is not: how it ended goes on record.
    """
    reply = outbound.fetch(
        request.method,
        request.url,
        headers=request.headers,
        body=request.body,
        policy=_policy(integration, seconds),
        unwanted=has_left if request.method in retry.SAFE else always_wanted,
    )
    return _read(reply)


def _policy(integration: str, seconds: float) -> Policy:
    """To the public internet by https, or to exactly the place that an operator named."""
    named = project.HALO_VENDOR_URLS.get(integration)
    if named is None:
        return Policy(deadline=seconds)
    stand_in = urlsplit(named)
    is_https = stand_in.scheme == "https"
    return Policy(
        https_only=is_https,
        deadline=seconds,
        allowed_private_hosts=frozenset({stand_in.hostname or ""}),
        allowed_ports=frozenset({stand_in.port or (443 if is_https else 80)}),
    )


def _content(json: Json, form: Mapping[str, str]) -> tuple[dict[str, str], bytes | None]:
    if form:
        return {"Content-Type": "application/x-www-form-urlencoded"}, urlencode(form).encode()
    if json is None:
        return {}, None
    return {"Content-Type": "application/json"}, stdlib_json.dumps(json).encode()


def _read(reply: OutboundReply) -> VendorResponse:
    try:
        value = _parse_body(reply.body)
    except (ValueError, RecursionError):
        answer = VendorResponse(reply.status, reply.headers, None)
        if answer.is_success:
            # A page of text with a good status: what was done is unknown.
            message = "The vendor returned a response that is not valid JSON."
            raise IntegrationFailure(message, upstream_status=reply.status) from None
        return answer
    return VendorResponse(reply.status, reply.headers, value)


def _parse_body(body: bytes) -> Any:
    """The JSON value, with what no database stores spelled out. Raises ValueError."""
    if not body.strip():
        return None
    return escape_unstorable(json_text.parse(body))

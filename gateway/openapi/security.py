"""Security schemes and requirements of 2.0 and 3.x, and credentials declared as parameters."""

import re
from collections.abc import Collection, Mapping, Sequence
from dataclasses import replace
from typing import Final

from gateway.openapi.references import OpenApiDocument, Unmappable
from gateway.openapi.shapes import Json, Scheme

# The flow that a person can go through comes first.
_FLOWS: Final = (
    "authorizationCode", "accessCode", "deviceAuthorization", "clientCredentials", "application",
    "implicit", "password",
)  # fmt: skip
_UNSUPPORTED_HTTP: Final = {
    "digest", "hoba", "mutual", "negotiate", "vapid", "privatetoken", "dpop", "gnap",
}  # fmt: skip
# What an API key in Authorization has before it, where the description says so: "Bot <token>".
_PREFIX: Final = re.compile(
    r"(?:^|[\s`'\":])([A-Z][A-Za-z-]{1,20})[ =]\s*[<{\[$]?[a-z_ -]*(?:token|key|secret|jwt)\b",
)
_NOT_PREFIX: Final = {"the", "your", "an", "api", "use", "access", "authorization", "this", "a"}
_ALWAYS_SECRET: Final = {"client_secret", "access_token", "api_key", "apikey", "api-key"}
_SECRET_WITH_OAUTH: Final = {"token", "access_token"}
Alternatives = tuple[tuple[Scheme, ...], ...]
# Each parameter is compared with each scheme of each alternative; an API has a few of both.
_MAX_ALTERNATIVES: Final = 50
_MAX_SCHEMES: Final = 20
# Each is read, compared and part of a fingerprint, for each tool.
_STEPS_OF_A_SCHEME: Final = 50


def alternatives(
    document: OpenApiDocument, operation: Mapping[str, Json], notes: list[str]
) -> Alternatives:
    """Returns the sets of schemes of which one is needed; none at all where nothing is.

    Raises Unmappable.
    """
    listed = operation.get("security", document.root.get("security"))
    if not isinstance(listed, list):
        return ()
    sets = [one for one in listed if isinstance(one, Mapping)]
    _check_number(sets)
    document.work.spend(_STEPS_OF_A_SCHEME * sum(map(len, sets)))
    schemes = _declared_schemes(document)
    return tuple(
        tuple(_scheme(document, schemes, name, needed, notes) for name, needed in one.items())
        for one in sets
    )


def _check_number(sets: Sequence[Collection[object]]) -> None:
    if len(sets) > _MAX_ALTERNATIVES or max(map(len, sets), default=0) > _MAX_SCHEMES:
        raise Unmappable(
            f"It has more than {_MAX_ALTERNATIVES} alternatives of security, or one of more than "
            f"{_MAX_SCHEMES} schemes."
        )


def _declared_schemes(document: OpenApiDocument) -> Mapping[str, Json]:
    if document.version == "2.0":
        declared = document.root.get("securityDefinitions")
    else:
        components = document.root.get("components")
        declared = components.get("securitySchemes") if isinstance(components, Mapping) else None
    return declared if isinstance(declared, Mapping) else {}


def _scheme(
    document: OpenApiDocument,
    declared: Mapping[str, Json],
    name: str,
    needed: Json,
    notes: list[str],
) -> Scheme:
    unsupported = Scheme(name=name, kind="unsupported")
    try:
        raw = document.resolve(declared.get(name))
    except Unmappable:
        raw = None
    if not isinstance(raw, Mapping):
        notes.append(f"The security scheme {name[:80]!r} is not declared.")
        return unsupported
    scopes = tuple(map(str, needed)) if isinstance(needed, list) else ()
    match str(raw.get("type")):
        case "basic":
            return Scheme(name=name, kind="basic", prefix="Basic ")
        case "http":
            made = _http(name, str(raw.get("scheme", "")))
        case "apiKey":
            made = _api_key(name, raw)
        case "oauth2":
            made = _oauth2(name, raw, scopes)
        case "openIdConnect":
            made = Scheme(name=name, kind="bearer", prefix="Bearer ", scopes=scopes)
        case _:
            made = unsupported
    if made.kind == "unsupported":
        notes.append(f"The security scheme {name[:80]!r} is of a kind that is not supported.")
    return made


def _http(name: str, scheme: str) -> Scheme:
    match scheme.lower():
        case "bearer":
            return Scheme(name=name, kind="bearer", prefix="Bearer ")
        case "basic":
            return Scheme(name=name, kind="basic", prefix="Basic ")
        case other if other and other not in _UNSUPPORTED_HTTP and not other.startswith("scram"):
            return Scheme(name=name, kind="api_key", prefix=f"{scheme} ")
    return Scheme(name=name, kind="unsupported")


def _api_key(name: str, raw: Mapping[str, Json]) -> Scheme:
    place: Json = raw.get("in")
    parameter = raw.get("name")
    if place not in ("header", "query", "cookie") or not isinstance(parameter, str):
        return Scheme(name=name, kind="unsupported")
    prefix = ""
    if place == "header" and parameter.lower() == "authorization":
        prefix = _prefix(name, str(raw.get("description") or ""))
    return Scheme(name=name, kind="api_key", place=place, parameter=parameter, prefix=prefix)


def _prefix(name: str, description: str) -> str:
    for found in _PREFIX.finditer(description[:2000]):
        if found[1].lower() not in _NOT_PREFIX:
            return f"{found[1]} "
    for word in ("Bearer", "Bot"):
        if re.search(rf"(?<![a-z]){word}", f"{name} {description[:2000]}", re.IGNORECASE):
            return f"{word} "
    return ""


def _oauth2(name: str, raw: Mapping[str, Json], scopes: tuple[str, ...]) -> Scheme:
    flows = raw.get("flows")
    if isinstance(flows, Mapping):
        known = [flows[one] for one in _FLOWS if isinstance(flows.get(one), Mapping)]
        flow: Mapping[str, Json] = known[0] if known else {}
    else:
        flow = raw
    return Scheme(
        name=name,
        kind="oauth2",
        prefix="Bearer ",
        authorization_url=str(flow.get("authorizationUrl") or "")[:2000],
        token_url=str(flow.get("tokenUrl") or "")[:2000],
        scopes=scopes,
    )


def is_credential(place: str, name: str, sets: Alternatives) -> bool:
    """Returns whether a parameter, or a field of a form (place "body"), holds a credential."""
    used = [scheme for one in sets for scheme in one]
    if any(
        scheme.place == place and scheme.parameter.casefold() == name.casefold()
        for scheme in used
        if scheme.kind != "unsupported"
    ):
        return True
    if place not in {"query", "header", "body"}:
        return False
    has_token = any(scheme.kind in {"oauth2", "bearer"} for scheme in used)
    lowered = name.casefold()
    return lowered in _ALWAYS_SECRET or (has_token and lowered in _SECRET_WITH_OAUTH)


def with_credential(sets: Alternatives, place: str, name: str, *, required: bool) -> Alternatives:
    """Returns the alternatives with a credential that the document declares as a parameter.

    A token takes the place of the OAuth or bearer scheme of its operation; as a header it is sent
    in both places, since RFC 6750 section 2.1 has it in Authorization. Any other is a scheme of its
    own, needed where the parameter is required. Raises Unmappable.
    """
    target: Json = place
    own = Scheme(name=name, kind="api_key", place=target, parameter=name, argument_name=name)
    found: list[tuple[Scheme, ...]] = []
    has_place = False
    for one in sets:
        made = _place_credential(one, place, name)
        has_place = has_place or made is not None
        found.append(one if made is None else made)
    if has_place:
        return tuple(found)
    with_own = [(*one, own) for one in sets] or [(own,)]
    # A credential that is not required doubles the alternatives.
    more = tuple(with_own if required else [*with_own, *(sets or [()])])
    _check_number(more)
    return more


def _place_credential(
    schemes: Sequence[Scheme], place: str, name: str
) -> tuple[Scheme, ...] | None:
    target: Json = place
    made: list[Scheme] = []
    is_found = False
    for scheme in schemes:
        same = scheme.place == place and scheme.parameter.casefold() == name.casefold()
        is_token = scheme.kind in {"oauth2", "bearer"} and name.casefold() in _SECRET_WITH_OAUTH
        if same and scheme.kind != "unsupported":
            made.append(replace(scheme, argument_name=name))
        elif is_token:
            moved = replace(scheme, place=target, parameter=name, prefix="", argument_name=name)
            made += [scheme, moved] if place == "header" else [moved]
        else:
            made.append(scheme)
            continue
        is_found = True
    return tuple(made) if is_found else None

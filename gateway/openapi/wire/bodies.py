"""The body of a request: JSON, a form, multipart, text or bytes."""

import base64
import binascii
import hashlib
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Final

import httpx2

from foundation.outbound.request import VALUE
from gateway.openapi.shapes import TEXT_IN_RANGE, BodyField, OperationBody
from gateway.openapi.wire.names import CREDENTIAL, NamesOnWire, owner_of, place_of
from gateway.openapi.wire.values import (
    InvalidArgument,
    Json,
    Spelling,
    json_text,
    quote_form,
    text_of,
)

CONTROL: Final = re.compile(r"[\x00-\x1f\x7f]")
MEDIA_TYPE: Final = re.compile(r"[\w!#$&^.+-]+/[\w!#$&^.+-]+", re.ASCII)
CHARSET: Final = re.compile(r";\s*charset=\"?([\w.:-]+)", re.ASCII | re.IGNORECASE)
OCTETS: Final = "application/octet-stream"
# Sent where the document declares a range, such as `*/*`.
WITHOUT_RANGE: Final = {
    "json": "application/json",
    "form": "application/x-www-form-urlencoded",
    "multipart": "multipart/form-data",
    "text": "text/plain",
    "binary": OCTETS,
}
# A file part or a JSON part is (name, (file name, content, content type)), as httpx2 takes it.
Part = tuple[str, tuple[str | None, bytes, str | None]]


@dataclass(frozen=True, slots=True)
class EncodedBody:
    """The bytes of a body and their Content-Type."""

    data: bytes
    content_type: str


@dataclass(slots=True)
class Uploads:
    """How many bytes of files a request may still have."""

    left: int

    def decode_file(self, field: str, text: Json) -> bytes:
        """Returns the bytes of base64 text. Raises InvalidArgument, also for too many."""
        if not isinstance(text, str):
            raise InvalidArgument(field, "has a file without base64 text")
        too_large = InvalidArgument(field, "is larger than a file may be")
        if len(text) > self.left * 4 // 3 + 4:
            raise too_large
        try:
            data = base64.b64decode(text, validate=True)
        except (binascii.Error, ValueError):
            raise InvalidArgument(field, "is not valid base64") from None
        if len(data) > self.left:
            raise too_large
        self.left -= len(data)
        return data


def content(
    body: OperationBody,
    arguments: Mapping[str, Json],
    hidden: Mapping[str, Json],
    uploads: Uploads,
    names: NamesOnWire,
) -> EncodedBody | None:
    """Returns the body, or None where none is given and none is required.

    `arguments` are those of the body. `hidden` are properties that no argument holds. Raises
    InvalidArgument.
    """
    may_hide = body.kind in {"json", "form", "multipart"}
    is_given = bool(arguments) or (may_hide and bool(hidden))
    if not is_given and body.argument and body.required:
        raise InvalidArgument(body.argument, "is required")
    if not is_given and not body.required:
        return None
    match body.kind:
        case "json":
            return _json(body, arguments, hidden, names)
        case "form":
            return _form(body, arguments, hidden, names)
        case "multipart":
            return _multipart(body, _properties(body, arguments, hidden, names), uploads)
        case "text":
            return _text(body, arguments)
        case "binary":
            return _binary(body, arguments, uploads)


def _json(
    body: OperationBody,
    arguments: Mapping[str, Json],
    hidden: Mapping[str, Json],
    names: NamesOnWire,
) -> EncodedBody:
    whole = arguments.get(body.argument) if body.argument else None
    if body.argument and not hidden and not isinstance(whole, Mapping):
        text_type = TEXT_IN_RANGE.get(body.media_type.partition(";")[0].strip().lower())
        if isinstance(whole, str) and text_type:
            # In quotes, it would be another text for what is no JSON.
            return EncodedBody(whole.encode(), f"{text_type}; charset=utf-8")
        value = whole
    else:
        properties = _properties(body, arguments, hidden, names)
        value = {field.name: item for field, item in properties}
    text = json_text(body.argument or "body", value)
    return EncodedBody(text.encode(), _content_type(body))


def _form(
    body: OperationBody,
    arguments: Mapping[str, Json],
    hidden: Mapping[str, Json],
    names: NamesOnWire,
) -> EncodedBody:
    pairs = [
        pair
        for field, value in _properties(body, arguments, hidden, names)
        if value is not None
        for pair in _form_pairs(field, value, names)
    ]
    text = "&".join(f"{name}={value}" for name, value in pairs)
    return EncodedBody(text.encode(), _content_type(body))


def _form_pairs(field: BodyField, value: Json, names: NamesOnWire) -> list[tuple[str, str]]:
    """Without a style of its own, an object is JSON text (OpenAPI 3.1.1, Encoding Object)."""
    is_plain_object = isinstance(value, Mapping) and (field.style, field.explode) == ("form", True)
    if is_plain_object or _is_json(field.content_type):
        value = json_text(field.argument, value)
    spelling = Spelling(
        field=field.argument,
        name=field.name,
        style=field.style,
        explode=field.explode,
        write_free=partial(names.write_free, "form"),
        encode=quote_form,
        encode_name=quote_form,
    )
    return spelling.pairs(value)


def _multipart(
    body: OperationBody, properties: Iterable[tuple[BodyField, Json]], uploads: Uploads
) -> EncodedBody:
    """The parts in the order of the document (RFC 7578 section 5.2).

    The boundary is a hash of the parts, so that the same arguments are the same bytes.
    """
    parts: list[Part] = []
    for field, value in properties:
        if value is not None:
            parts += _parts(field, value, uploads)
    boundary = hashlib.sha256(repr(parts).encode()).hexdigest()[:32]
    if not parts:
        # A multipart body without a part has only its end (RFC 2046 section 5.1.1).
        return EncodedBody(
            f"--{boundary}--\r\n".encode(), f"{_content_type(body)}; boundary={boundary}"
        )
    request = httpx2.Request(
        "POST",
        "http://localhost/",
        files=parts,
        headers={"Content-Type": f"multipart/form-data; boundary={boundary}"},
    )
    return EncodedBody(request.read(), f"{_content_type(body)}; boundary={boundary}")


def _parts(field: BodyField, value: Json, uploads: Uploads) -> Iterator[Part]:
    """One part for a value, and one for each item of an array (RFC 7578 section 4.3)."""
    if isinstance(value, list) and not _is_json(field.content_type):
        items: Sequence[Json] = [item for item in value if item is not None]
    else:
        items = [value]
    for item in items:
        if field.is_file:
            yield field.name, _file(field, item, uploads)
        elif isinstance(item, list | Mapping) or _is_json(field.content_type):
            text = json_text(field.argument, item)
            yield field.name, (None, text.encode(), _declared_type(field) or "application/json")
        else:
            text = text_of(field.argument, item)
            yield field.name, (None, text.encode(), _declared_type(field) or None)


def _file(field: BodyField, value: Json, uploads: Uploads) -> tuple[str, bytes, str]:
    if not isinstance(value, Mapping):
        raise InvalidArgument(field.argument, "is a file: an object with name, type and base64")
    data = uploads.decode_file(field.argument, value.get("base64"))
    name = value.get("name") or "file"
    # A path is none of the server's business (RFC 7578 section 4.2).
    if not isinstance(name, str) or CONTROL.search(name) or "/" in name or "\\" in name:
        raise InvalidArgument(field.argument, "has a file name with a path or control characters")
    return (
        name,
        data,
        _file_type(field.argument, value.get("type")) or _declared_type(field) or OCTETS,
    )


def _file_type(argument: str, media_type: Json) -> str:
    if not media_type:
        return ""
    if not isinstance(media_type, str) or not MEDIA_TYPE.match(media_type):
        raise InvalidArgument(argument, "has a file type that is no media type")
    if not VALUE.fullmatch(media_type):
        raise InvalidArgument(argument, "has a file type with invalid characters")
    return media_type


def _text(body: OperationBody, arguments: Mapping[str, Json]) -> EncodedBody:
    text = text_of(body.argument, arguments[body.argument])
    content_type = _content_type(body)
    declared = CHARSET.search(content_type)
    if declared is None:
        return EncodedBody(text.encode(), f"{content_type}; charset=utf-8")
    try:
        return EncodedBody(text.encode(declared[1]), content_type)
    except (LookupError, UnicodeEncodeError):
        reason = f"has characters that {declared[1]} does not have"
        raise InvalidArgument(body.argument, reason) from None


def _binary(body: OperationBody, arguments: Mapping[str, Json], uploads: Uploads) -> EncodedBody:
    """Base64 text, or a file as in a multipart body."""
    value = arguments[body.argument]
    content_type = _content_type(body)
    if isinstance(value, Mapping):
        if "*" in body.media_type:
            content_type = _file_type(body.argument, value.get("type")) or content_type
        value = value.get("base64")
    return EncodedBody(uploads.decode_file(body.argument, value), content_type)


def _properties(
    body: OperationBody,
    arguments: Mapping[str, Json],
    hidden: Mapping[str, Json],
    names: NamesOnWire,
) -> Iterator[tuple[BodyField, Json]]:
    """The properties of an object body in the order of the document, then all others."""
    place = place_of(body)
    if body.argument:
        whole = arguments.get(body.argument, {})
        if not isinstance(whole, Mapping):
            raise InvalidArgument(body.argument, "must be an object")
        by_name = {field.name: field for field in body.fields}
        for name, value in whole.items():
            names.write_member(place, name, body.argument)
            yield by_name.get(name, BodyField(argument=body.argument, name=name)), value
    else:
        known = [field for field in body.fields if field.argument in arguments]
        for field in known:
            names.write(place, field.name, owner_of(field.argument))
            yield field, arguments[field.argument]
        named = {field.argument for field in known}
        for name, value in arguments.items():
            if name not in named:
                names.write_free(place, name, name)
                yield BodyField(argument=name, name=name), value
    for name, value in hidden.items():
        names.write(place, name, CREDENTIAL)
        yield BodyField(argument=name, name=name), value


def _content_type(body: OperationBody) -> str:
    if "*" in body.media_type or not body.media_type:
        return WITHOUT_RANGE[body.kind]
    return body.media_type


def _declared_type(field: BodyField) -> str:
    """The first media type that the document declares for a part; a range is none."""
    declared = (one.strip() for one in field.content_type.split(","))
    return next((one for one in declared if MEDIA_TYPE.match(one) and VALUE.fullmatch(one)), "")


def _is_json(content_type: str) -> bool:
    media_type = content_type.partition(";")[0].strip().lower()
    return media_type == "application/json" or media_type.endswith("+json")

"""From the response of an API to the result of a tool, or to the failure that it means."""

import base64
import codecs
import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from email.message import Message
from http import HTTPStatus
from types import MappingProxyType
from typing import Final, NoReturn
from urllib.parse import quote

from foundation import json_text
from foundation.db.storable import escape_unstorable
from foundation.json_text import dumps
from foundation.outbound.retry import retry_after
from gateway.openapi import cutting, masking, response_headers
from gateway.openapi.shapes import Json, OpenApiOperation
from mcp_protocol import meta_keys
from tools_registry.api import Blocks, IntegrationFailure, Unauthorized, unknown_outcome

MAX_RESULT_BYTES: Final = 1_048_576
NO_ARGUMENTS: Final[Mapping[str, Json]] = MappingProxyType({})
# Redirects after which the request itself is to be sent to the other address.
REPEATED_ELSEWHERE: Final = frozenset({307, 308})
UNKNOWN_OUTCOME: Final = unknown_outcome("the API")
# Kept free for the sentence about a cut, and for the names of the blocks.
ROOM_BYTES: Final = 1_024
# Those that models read; any other image is a file.
# The charsets that a response may declare, by their names in Python.
CHARSETS: Final = frozenset(
    {"ascii", "utf-8", "utf-16", "iso8859-1", "iso8859-15", "cp1252", "shift_jis", "euc_jp"}
    | {"gb18030", "gb2312", "big5", "euc_kr", "koi8-r", "cp1251"}
)
IMAGES: Final = frozenset({"image/png", "image/jpeg", "image/gif", "image/webp"})
TEXTS: Final = frozenset(
    {
        "application/csv",
        "application/ecmascript",
        "application/graphql",
        "application/javascript",
        "application/jsonl",
        "application/sql",
        "application/toml",
        "application/x-ndjson",
        "application/x-www-form-urlencoded",
        "application/x-yaml",
        "application/xml",
        "application/yaml",
    }
)
# Arguments that choose the part of a list, as APIs call them.
PAGING: Final = frozenset(
    {
        "$skip", "$top", "after", "before", "count", "cursor", "ending_before", "limit",
        "max_results", "next_token", "offset", "page", "page_number", "page_size", "page_token",
        "pagesize", "per_page", "perpage", "skip", "skiptoken", "start", "starting_after", "take",
        "top",
    }
)  # fmt: skip


@dataclass(frozen=True, slots=True, kw_only=True)
class UpstreamResponse:
    """A response as it is read here; header names are in lower case.

    `secrets` are the credentials of the request, which some APIs repeat.
    """

    status: int
    headers: Mapping[str, str] = field(repr=False)
    body: bytes = field(repr=False)
    operation: OpenApiOperation = field(repr=False)
    secrets: Sequence[str] = field(default=(), repr=False)
    max_bytes: int = MAX_RESULT_BYTES

    @property
    def media_type(self) -> str:
        """The media type without parameters, in lower case; empty if there is none."""
        if not self.headers.get("content-type", "").strip():
            return ""
        return self._header("content-type").get_content_type()

    @property
    def charset(self) -> str:
        return self._header("content-type").get_content_charset() or ""

    @property
    def file_name(self) -> str:
        """The last part of the file name that the response has."""
        try:
            name = self._header("content-disposition").get_filename() or ""
        except ValueError:
            # A name in an encoding that is none for file names.
            return ""
        return "".join(c for c in name.replace("\\", "/").rpartition("/")[2] if c.isprintable())

    @property
    def named_status(self) -> str:
        try:
            return f"{self.status} {HTTPStatus(self.status).phrase}"
        except ValueError:
            return str(self.status)

    def _header(self, name: str) -> Message:
        parsed = Message()
        parsed[name] = self.headers.get(name, "").replace("\r", " ").replace("\n", " ")
        return parsed


def result(
    status: int,
    headers: Mapping[str, str],
    body: bytes,
    operation: OpenApiOperation,
    *,
    is_read: bool = True,
    secrets: Sequence[str] = (),
    private: Sequence[str] = (),
    max_bytes: int = MAX_RESULT_BYTES,
    url: str = "",
    arguments: Mapping[str, Json] = NO_ARGUMENTS,
) -> Blocks:
    """Returns the result of a response with a status below 400, whatever its body is.

    `secrets` are the credentials, which are masked in every result; `private` are secrets of the
    arguments, which are masked in messages alone: those are on record.
    `url` is the one that was answered, `arguments` are those of the call, for its next page.

    A call that ran never fails: what is no JSON is text or a file, what takes more than `max_bytes`
    in the result is cut. Raises Unauthorized for 401 and 403, with the status in `upstream_status`,
    and IntegrationFailure for the other errors, and for a redirect of what does not only read: it
    was not followed, so that nothing says that the change was made.
    """
    response = UpstreamResponse(
        status=status,
        headers={name.lower(): value for name, value in headers.items()},
        body=masking.mask_body(body, secrets) if status < HTTPStatus.MULTIPLE_CHOICES else body,
        operation=operation,
        secrets=(*secrets, *private),
        max_bytes=max_bytes - ROOM_BYTES,
    )
    if status >= HTTPStatus.BAD_REQUEST:
        _fail(response)
    if status >= HTTPStatus.MULTIPLE_CHOICES:
        return _redirect(response, is_read=is_read)
    return _with_headers(response, url, arguments)


def _with_headers(response: UpstreamResponse, url: str, arguments: Mapping[str, Json]) -> Blocks:
    """The result of the body, and what its caller needs of the headers in a line and in `_meta`."""
    operation, secrets = response.operation, response.secrets
    most = response.max_bytes // 4
    headers = response_headers.select_for_result(response.headers, operation, secrets, most)
    page = response_headers.next_page(response.headers, url, operation, arguments, secrets)
    line = escape_unstorable(response_headers.sentence(headers, page))
    if not line:
        return _body_blocks(response)
    block = _text_block(str(line))
    blocks = _body_blocks(replace(response, max_bytes=response.max_bytes - len(dumps(block))))
    meta: dict[str, Json] = {meta_keys.RESPONSE_HEADERS: headers} if headers else {}
    meta |= {meta_keys.NEXT_PAGE: page} if page is not None else {}
    return Blocks([*blocks.content, block], blocks.structured, meta)


def _body_blocks(response: UpstreamResponse) -> Blocks:
    if not response.body.strip():
        done = f"The API answered {response.named_status}, without content."
        return _blocks(response, [_text_block(done)], {})
    if response.media_type in IMAGES:
        return _image(response)
    text = _text(response)
    if text is None:
        return _file(response)
    return _json(response, text) or _plain(response, text)


def _json(response: UpstreamResponse, text: str) -> Blocks | None:
    """The text as it came, and its value; None for text that is no JSON.

    What cannot fit is not decoded before it is cut: an answer may be many times as large.
    """
    is_declared = response.media_type.endswith(("/json", "+json"))
    if not is_declared and text.lstrip()[:1] not in {"{", "["}:
        return None
    try:
        if len(text) <= response.max_bytes:
            value, has_digits = json_text.parse_for_clients(text)
            blocks = _json_blocks(response, text, value, has_digits=has_digits)
            if _size(blocks) <= response.max_bytes:
                return blocks
        cut = cutting.cut(text, response.max_bytes)
        if cut is None:
            return None
        blocks = _json_blocks(response, cut.text, cut.value, has_digits=cut.has_digits)
    except (ValueError, RecursionError):  # also nested deeper than it can be written again
        return None
    return Blocks([*blocks.content, _text_block(_paging(response, cut))], blocks.structured)


def _json_blocks(response: UpstreamResponse, text: str, value: Json, *, has_digits: bool) -> Blocks:
    """A JSON text as it came, and its value.

    Many clients pass on the structured content alone. A number that they would round is in it as
    text, where an output schema demands it; without one there is none, and they pass on the text.
    """
    value = escape_unstorable(value)
    content = [_text_block(text)]
    if has_digits and response.operation.output_schema is None:
        return Blocks(content)
    if isinstance(value, dict):
        return Blocks(content, value)
    if isinstance(value, list):
        # Structured content is an object (MCP 2025-06-18, Structured Content).
        return Blocks(content, {"items": value})
    return _blocks(response, content, {"value": value})


def _paging(response: UpstreamResponse, cut: cutting.Cut) -> str:
    arguments = [one.argument for one in response.operation.parameters if one.argument]
    paging = [name for name in arguments if name.lower().replace("-", "_") in PAGING]
    how = (
        f"For the others, call again with other values of: {', '.join(paging)}."
        if paging
        else "For the others, call again with arguments that select fewer items."
    )
    return (
        f"The first {cut.kept:,} of {cut.total:,} items are above; "
        f"the whole answer is too large for a result. {how}"
    )


def _plain(response: UpstreamResponse, text: str) -> Blocks:
    """Text, cut at a whole line if it is too large."""
    text = str(escape_unstorable(text))
    blocks = _blocks(response, [_text_block(text)], {"text": text})
    if _size(blocks) <= response.max_bytes:
        return blocks
    shown = _truncate_text(text, response.max_bytes)
    note = (
        f"The first {len(shown):,} of {len(text):,} characters are above; the whole answer is too "
        "large for a result. Request less data."
    )
    return _blocks(response, [_text_block(shown), _text_block(note)], {"note": note})


def _truncate_text(text: str, max_bytes: int) -> str:
    shown = text[:max_bytes]
    while (size := len(dumps(shown))) > max_bytes:
        shown = shown[: len(shown) * max_bytes // size - 1]
    lines, newline, _ = shown.rpartition("\n")
    return lines if newline else shown


def _image(response: UpstreamResponse) -> Blocks:
    data = base64.b64encode(response.body).decode()
    if len(data) > response.max_bytes:
        return _too_large(response)
    block = {"type": "image", "data": data, "mimeType": response.media_type}
    return _blocks(response, [block], _file_facts(response))


def _file(response: UpstreamResponse) -> Blocks:
    data = base64.b64encode(response.body).decode()
    if len(data) > response.max_bytes:
        return _too_large(response)
    resource = {
        "uri": f"response:///{quote(response.operation.name)}/{quote(response.file_name)}",
        "mimeType": response.media_type or "application/octet-stream",
        "blob": data,
    }
    return _blocks(response, [{"type": "resource", "resource": resource}], _file_facts(response))


def _too_large(response: UpstreamResponse) -> Blocks:
    facts = _file_facts(response)
    text = (
        f"The API answered with a file ({facts['mimeType']}, {facts['bytes']:,} bytes), "
        "which is too large for a result."
    )
    return _blocks(response, [_text_block(text)], facts)


def _file_facts(response: UpstreamResponse) -> dict[str, Json]:
    media_type = response.media_type or "application/octet-stream"
    facts: dict[str, Json] = {"mimeType": media_type, "bytes": len(response.body)}
    return facts | ({"name": response.file_name} if response.file_name else {})


def _redirect(response: UpstreamResponse, *, is_read: bool) -> Blocks:
    """The result of a redirect that was not followed.

    Those of a call that changes something are not, and those to another origin, which the
    credential of the call must not reach.

    The API may have carried out a request before it redirects, as with 303, but not with 307 and
    308, which have the same request sent again (RFC 9110 sections 15.4.4, 15.4.8 and 15.4.9).
    """
    to = response.headers.get("location", "")
    shown = masking.location(to, response.secrets) if to else ""
    text = f"The API answered {response.named_status}"
    text += f" and points to {shown}, which was not followed." if to else "."
    if not is_read:
        is_unknown = response.status not in REPEATED_ELSEWHERE
        text = text if text.endswith(".") else f"{text}."
        raise IntegrationFailure(
            f"{text} {UNKNOWN_OUTCOME}" if is_unknown else text, upstream_status=response.status
        )
    facts = {"status": response.status} | ({"location": shown} if to else {})
    return _blocks(response, [_text_block(text)], facts)


def _fail(response: UpstreamResponse) -> NoReturn:
    text = _text(response) or ""
    if response.media_type == "text/html" or text.lstrip()[:1] == "<":
        text = masking.text_of_page(text)
    shown = masking.excerpt(text, response.secrets)
    message = f"The API answered {response.named_status}{': ' if shown else '.'}{shown}"
    wait = retry_after(response.headers)
    if wait is not None:
        message += f" Try again in {max(math.ceil(wait), 1):,} seconds."
    if response.status in {HTTPStatus.UNAUTHORIZED, HTTPStatus.FORBIDDEN}:
        raise Unauthorized(message, upstream_status=response.status)
    raise IntegrationFailure(message, upstream_status=response.status)


def _text(response: UpstreamResponse) -> str | None:
    """The body as text, or None for what is none."""
    media_type, body = response.media_type, response.body
    is_json = media_type.endswith(("/json", "+json"))
    is_text = media_type.startswith("text/") or media_type in TEXTS or media_type.endswith("+xml")
    for mark in (codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE):
        if (is_json or is_text) and body.startswith(mark):
            return body.decode("utf-16", errors="replace")
    if b"\0" in body:
        return body.decode("utf-8", errors="replace") if is_text else None
    is_open = not media_type or body.lstrip()[:1] in {b"{", b"["}
    if is_json or is_text or is_open:
        return _decode_text(body, response.charset, is_sure=is_json or is_text)
    return None


def _decode_text(body: bytes, charset: str, *, is_sure: bool) -> str | None:
    """Text in its declared charset, else in UTF-8, else in the one of Western computers."""
    for name in (_text_charset(charset), "utf-8-sig"):
        try:
            return body.decode(name or "utf-8-sig")
        except (LookupError, ValueError):
            continue
    return body.decode("cp1252", errors="replace") if is_sure else None


def _text_charset(charset: str) -> str:
    """The charset if it is one that text has; empty for any other codec of Python.

    Some of those take time by the square of the length, and some make surrogates.
    """
    try:
        return charset if codecs.lookup(charset).name in CHARSETS else ""
    except (LookupError, ValueError):
        return ""


def _blocks(
    response: UpstreamResponse, content: Sequence[Mapping[str, Json]], facts: Mapping[str, Json]
) -> Blocks:
    """Content with structured content where the tool has an output schema.

    Strict clients discard a result of such a tool without it.
    """
    return Blocks(content, facts if response.operation.output_schema is not None else None)


def _text_block(text: str) -> dict[str, Json]:
    return {"type": "text", "text": text}


def _size(blocks: Blocks) -> int:
    """As the pipeline measures a result."""
    return len(dumps([blocks.content, blocks.structured]))

"""Bodies as documents declare them: alternatives that overlap, and types that are left open."""

import base64
import json
from typing import Any

import pytest

from tests.drivers.fake_vendors.site import Seen, Site
from tests.drivers.grants import Grant
from tests.gateway import shop

TEXT = {"type": "string"}
# A card is also what the second branch describes, since that one leaves its members open.
CARD = {"type": "object", "properties": {"iban": TEXT}, "required": ["iban"]}
OPEN = {"type": "object", "properties": {"note": TEXT}}
CHOICES: dict[str, dict[str, Any]] = {
    "one-of": {"oneOf": [CARD, OPEN]},
    "next-to-any-of": {"oneOf": [CARD, OPEN], "anyOf": [{"minProperties": 1}, CARD]},
    "in-all-of": {"allOf": [{"oneOf": [{"$ref": "#/components/schemas/Card"}, OPEN]}]},
}


def call_and_get_request(
    grant: Grant, site: Site, content: Any, value: Any, **document: Any
) -> Seen | None:
    """The request of a call with this body; None if the arguments were refused."""
    described = shop.document(**document)
    content = {"required": True, "content": content}
    described["paths"]["/items"]["post"]["requestBody"] = content
    project = shop.create_project(grant, site, described)
    with shop.endpoint(grant, project) as mcp:
        mcp.call("createItem", value)
    return site.seen[0] if site.seen else None


@pytest.mark.parametrize("schema", CHOICES.values(), ids=CHOICES)
def test_a_value_that_fits_two_branches_of_one_of_is_sent(
    grant: Grant, site: Site, schema: Any
) -> None:
    paid = {"type": "object", "properties": {"pay": schema}, "additionalProperties": False}
    body = {"pay": {"iban": "DE02", "note": "Rent"}}
    content = {"application/json": {"schema": paid}}
    seen = call_and_get_request(grant, site, content, body, components={"schemas": {"Card": CARD}})
    assert seen is not None
    assert seen.json == body


@pytest.mark.parametrize(
    ("schema", "value"),
    [
        ({"oneOf": [{"type": "integer"}, {"type": "boolean"}]}, "neither"),
        # Without the strict form, a value would be refused that the document allows.
        ({"not": {"oneOf": [{"minimum": 9}, {"maximum": 1}]}}, 10),
    ],
)
def test_a_value_that_fits_no_branch_is_refused(
    grant: Grant, site: Site, schema: Any, value: Any
) -> None:
    content = {"application/json": {"schema": {"type": "object", "properties": {"pay": schema}}}}
    assert call_and_get_request(grant, site, content, {"pay": value}) is None


def test_one_of_under_not_is_as_strict_as_declared(grant: Grant, site: Site) -> None:
    both = {"not": {"oneOf": [{"minimum": 1}, {"multipleOf": 5}]}}
    content = {"application/json": {"schema": {"type": "object", "properties": {"n": both}}}}
    seen = call_and_get_request(grant, site, content, {"n": 10})
    assert seen is not None
    assert seen.json == {"n": 10}


BYTES = base64.b64encode(b"\x00\xffscan").decode()
AS_GIVEN: dict[str, tuple[str, Any, Any, bytes, str]] = {
    "text": ("*/*", TEXT, "<a>1</a>", b"<a>1</a>", "text/plain; charset=utf-8"),
    "nullable-text": (
        *("*/*", {"type": ["string", "null"]}, 'say "hi"'),
        *(b'say "hi"', "text/plain; charset=utf-8"),
    ),
    "file": (
        "*/*",
        {**TEXT, "format": "binary"},
        BYTES,
        b"\x00\xffscan",
        "application/octet-stream",
    ),
    "anything-as-text": ("*/*", {}, "a: 1", b"a: 1", "text/plain; charset=utf-8"),
    "anything-as-list": ("*/*", {}, [1, "2"], b'[1,"2"]', "application/json"),
    "list": ("*/*", {"type": "array", "items": TEXT}, ["x"], b'["x"]', "application/json"),
    "of-applications": (
        *("application/*", TEXT, "PING"),
        *(b"PING", "application/octet-stream; charset=utf-8"),
    ),
    "anything-of-applications": (
        *("application/*", {}, "<PING/>"),
        *(b"<PING/>", "application/octet-stream; charset=utf-8"),
    ),
    "text-or-number-of-applications": (
        *("Application/*", {"type": ["string", "integer"]}, "a: 1"),
        *(b"a: 1", "application/octet-stream; charset=utf-8"),
    ),
    "any-json": ("application/*+json", TEXT, "hi", b'"hi"', "application/json"),
    "json": ("application/json", TEXT, "hi", b'"hi"', "application/json"),
}


@pytest.mark.parametrize("case", AS_GIVEN.values(), ids=AS_GIVEN)
def test_a_body_of_any_type_is_sent_as_it_is_given(
    grant: Grant, site: Site, case: tuple[str, Any, Any, bytes, str]
) -> None:
    media_type, schema, value, body, content_type = case
    seen = call_and_get_request(grant, site, {media_type: {"schema": schema}}, {"body": value})
    assert seen is not None
    same = seen.body == body or json.loads(seen.body) == json.loads(body)
    assert (same, seen.headers["content-type"]) == (True, content_type)

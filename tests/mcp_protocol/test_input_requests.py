"""What a client is asked, in the words of each revision."""

from typing import Any

import pytest

from mcp_protocol import client_capabilities, input_requests
from mcp_protocol.input_requests import UnsupportedAtRevision
from mcp_protocol.revisions import REVISIONS, Revision
from tests.drivers.schemas import conforms

FORM = {
    "method": "elicitation/create",
    "params": {
        "mode": "form",
        "message": "Which?",
        "requestedSchema": {
            "$schema": "https://json-schema.org/draft/2020-12/schema",
            "type": "object",
            "properties": {
                "mail": {"type": "string", "format": "email", "default": "a@example.com"},
                "size": {"type": "string", "oneOf": [{"const": "s", "title": "Small"}]},
                "old": {"type": "string", "enum": ["a"], "enumNames": ["A"]},
                "count": {"type": "integer", "minimum": 1, "default": 1},
                "share": {"type": "number", "maximum": 1, "default": 0.5},
                "sure": {"type": "boolean", "default": True},
            },
            "required": ["mail"],
        },
    },
}
SEVERAL = {
    "method": "elicitation/create",
    "params": {
        "message": "Which?",
        "requestedSchema": {
            "type": "object",
            "properties": {"s": {"type": "array", "items": {"type": "string", "enum": ["a"]}}},
        },
    },
}
PAGE = {
    "method": "elicitation/create",
    "params": {"mode": "url", "message": "There.", "url": "https://example.com/"},
}
SAMPLE: dict[str, Any] = {
    "method": "sampling/createMessage",
    "params": {
        "messages": [{"role": "user", "content": {"type": "text", "text": "?"}}],
        "maxTokens": 10,
    },
}
WITH_TOOLS = {**SAMPLE, "params": {**SAMPLE["params"], "tools": []}}
ROOTS: dict[str, Any] = {"method": "roots/list", "params": {}}

# The first revision that has words for it, and what its schema calls it.
SPOKEN = {
    "form": (FORM, Revision.V2025_06_18, "ElicitRequest"),
    "form with several choices": (SEVERAL, Revision.V2025_11_25, "ElicitRequest"),
    "page": (PAGE, Revision.V2025_11_25, "ElicitRequest"),
    "sampling": (SAMPLE, Revision.V2024_11_05, "CreateMessageRequest"),
    "sampling with tools": (WITH_TOOLS, Revision.V2025_11_25, "CreateMessageRequest"),
    "roots": (ROOTS, Revision.V2024_11_05, "ListRootsRequest"),
}


@pytest.mark.parametrize("revision", REVISIONS, ids=str)
@pytest.mark.parametrize("what", SPOKEN)
def test_every_request_fits_the_schema_of_the_revision_or_is_not_sent(
    what: str, revision: Revision
) -> None:
    request, since, definition = SPOKEN[what]
    if REVISIONS.index(revision) < REVISIONS.index(since):
        with pytest.raises(UnsupportedAtRevision):
            input_requests.serialize({"x": request}, revision)
        return
    serialized = input_requests.serialize({"x": request}, revision)["x"]
    if revision == Revision.V2026_07_28:
        conforms(serialized, revision, "InputRequest")
        conforms(serialized, revision, definition)
    else:
        conforms(input_requests.server_request("id", serialized), revision, definition)


def test_a_form_of_the_first_revision_holds_only_what_that_knows() -> None:
    serialized = input_requests.serialize({"x": FORM}, Revision.V2025_06_18)["x"]
    assert set(serialized["params"]) == {"message", "requestedSchema"}
    assert serialized["params"]["requestedSchema"] == {
        "type": "object",
        "properties": {
            "mail": {"type": "string", "format": "email"},
            "size": {"type": "string", "enum": ["s"], "enumNames": ["Small"]},
            "old": {"type": "string", "enum": ["a"], "enumNames": ["A"]},
            "count": {"type": "integer", "minimum": 1},
            "share": {"type": "number", "maximum": 1},
            "sure": {"type": "boolean", "default": True},
        },
        "required": ["mail"],
    }


def test_what_is_asked_needs_its_capabilities() -> None:
    needed = input_requests.required_capabilities(
        {"a": FORM, "b": PAGE, "c": WITH_TOOLS, "d": SAMPLE, "e": ROOTS}
    )
    assert needed == {
        "elicitation": {"form": {}, "url": {}},
        "sampling": {"tools": {}},
        "roots": {},
    }


def test_only_three_methods_are_requests_to_a_client() -> None:
    with pytest.raises(ValueError, match="tools/call"):
        input_requests.required_capabilities({"a": {"method": "tools/call"}})


@pytest.mark.parametrize(
    ("declared", "kept"),
    [
        ({}, {}),
        ({"elicitation": {}}, {"elicitation": {"form": {}}}),
        ({"elicitation": {"form": {}, "url": {}}}, {"elicitation": {"form": {}, "url": {}}}),
        ({"elicitation": {"url": {}}}, {"elicitation": {"url": {}}}),
        ({"elicitation": {"voice": {}}}, {}),
        ({"elicitation": True, "sampling": [], "roots": None}, {}),
        (
            {"sampling": {"tools": {}, "x": 1}, "roots": {"listChanged": True}},
            {
                "sampling": {"tools": {}},
                "roots": {},
            },
        ),
    ],
)
def test_of_what_a_client_declares_only_what_is_known_is_kept(declared: Any, kept: Any) -> None:
    assert client_capabilities.select_known(declared) == kept


@pytest.mark.parametrize(
    ("request_", "value", "fits"),
    [
        (FORM, {"action": "accept", "content": {}}, True),
        (FORM, {"action": "decline"}, True),
        (FORM, {"action": "yes"}, False),
        (FORM, {}, False),
        (FORM, "accept", False),
        (FORM, None, False),
        (SAMPLE, {"role": "assistant", "model": "m", "content": {"type": "text"}}, True),
        (SAMPLE, {"role": "assistant", "model": "m", "content": []}, True),
        (SAMPLE, {"role": "system", "model": "m", "content": {}}, False),
        (SAMPLE, {"role": "user", "content": {}}, False),
        (SAMPLE, {"role": "user", "model": "m", "content": "x"}, False),
        (ROOTS, {"roots": []}, True),
        (ROOTS, {"roots": [{"uri": "file:///"}]}, True),
        (ROOTS, {"roots": [{"name": "x"}]}, False),
        (ROOTS, {"roots": ["file:///"]}, False),
        (ROOTS, {}, False),
        ({"method": "elicitation/create"}, {"action": ["accept"]}, False),
        (SAMPLE, {"role": {}, "model": "m", "content": {}}, False),
    ],
)
def test_an_answer_has_the_shape_of_its_result(request_: Any, value: Any, fits: Any) -> None:
    assert input_requests.is_result(request_, value) is fits

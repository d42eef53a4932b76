"""Errors: which HTTP status carries which code, and what their bodies hold."""

import pickle
from collections.abc import Callable

import pytest

from mcp_protocol import errors
from mcp_protocol.envelope import failure
from mcp_protocol.errors import ProtocolError
from mcp_protocol.revisions import HANDSHAKE, REVISIONS, Revision

MODERN = Revision.V2026_07_28


def test_the_codes_are_the_documents() -> None:
    json_rpc = (
        errors.PARSE_ERROR,
        errors.INVALID_REQUEST,
        errors.METHOD_NOT_FOUND,
        errors.INVALID_PARAMS,
        errors.INTERNAL_ERROR,
    )
    assert json_rpc == (-32700, -32600, -32601, -32602, -32603)
    assert (errors.UNAUTHORIZED, errors.FORBIDDEN, errors.FORBIDDEN_MODERN) == (
        -32001,
        -32002,
        -31002,
    )


@pytest.mark.parametrize("revision", REVISIONS)
@pytest.mark.parametrize(
    ("code", "status"),
    [
        pytest.param(errors.PARSE_ERROR, 400, id="I01-I05-parse-error"),
        pytest.param(errors.INVALID_REQUEST, 400, id="I07-I08-invalid-request"),
        pytest.param(errors.UNAUTHORIZED, 401, id="H01-H02-unauthorized"),
        pytest.param(errors.INVALID_PARAMS, 200, id="I11-invalid-params"),
        pytest.param(errors.INTERNAL_ERROR, 200, id="J14-internal-error"),
    ],
)
def test_a_code_has_one_status_at_every_revision(
    code: int, status: int, revision: Revision
) -> None:
    assert errors.http_status(code, revision) == status


@pytest.mark.parametrize("revision", HANDSHAKE)
def test_an_unknown_method_is_a_200_before_2026(revision: Revision) -> None:
    assert errors.method_not_found("tools/Call").status(revision) == 200


def test_an_unknown_method_is_a_404_at_2026() -> None:
    assert errors.method_not_found("initialize").status(MODERN) == 404


@pytest.mark.parametrize(
    "code", [errors.HEADER_MISMATCH, errors.MISSING_CAPABILITY, errors.UNSUPPORTED_VERSION]
)
def test_the_modern_protocol_errors_are_400(code: int) -> None:
    assert errors.http_status(code, MODERN) == 400


@pytest.mark.parametrize("revision", HANDSHAKE)
def test_a_refusal_has_halos_code_before_2026(revision: Revision) -> None:
    assert errors.HALO.forbidden[revision] == -32002


def test_a_refusal_avoids_the_reserved_range_at_2026() -> None:
    assert errors.HALO.forbidden[MODERN] == -31002


def test_an_errors_own_status_wins_over_its_codes() -> None:
    error = ProtocolError(errors.FORBIDDEN, "Too many calls.", http_status=429)
    assert error.status(Revision.V2025_03_26) == 429
    assert ProtocolError(errors.FORBIDDEN, "No.").status(Revision.V2025_03_26) == 200


def test_an_error_reads_as_its_message_and_survives_pickling() -> None:
    error = ProtocolError(-32602, "Bad field.", data={"field": "a"}, headers=[("Retry-After", "3")])
    twin = pickle.loads(pickle.dumps(error))  # noqa: S301  bytes made one line above
    assert str(twin) == "Bad field."
    assert (twin.code, twin.data, twin.headers) == (-32602, {"field": "a"}, (("Retry-After", "3"),))


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("tools/Call", '"tools/Call"'),
        ("a\x00b\x1b[31m", '"a\\u0000b\\u001b[31m"'),
        ("\u202egpj", '"\\u202egpj"'),
        ("\ud800", '"\\ud800"'),
        ('say "hi"', '"say \\"hi\\""'),
        ("x" * 101, '"' + "x" * 100 + '..."'),
        ("x" * 100, '"' + "x" * 100 + '"'),
    ],
    ids=["plain", "control", "bidi", "surrogate", "quotes", "long", "just-fits"],
)
def test_a_clients_text_is_shown_in_harmless_characters(text: str, expected: str) -> None:
    assert errors.quote_text(text) == expected


@pytest.mark.parametrize(
    ("error", "definition"),
    [
        (errors.unsupported_version("1900-01-01"), "UnsupportedProtocolVersionError"),
        (
            errors.missing_capability({"elicitation": {"form": {}}}),
            "MissingRequiredClientCapabilityError",
        ),
        (errors.header_mismatch("the Mcp-Name header is missing."), "HeaderMismatchError"),
    ],
    ids=["version", "capability", "header"],
)
def test_modern_errors_have_the_shape_their_schema_asks_for(
    error: ProtocolError,
    definition: str,
    conforms: Callable[[object, Revision, str], None],
) -> None:
    conforms(failure(1, error), MODERN, definition)
    assert error.status(MODERN) == 400


def test_an_unsupported_version_is_answered_with_what_is_supported() -> None:
    assert errors.unsupported_version("1900-01-01").data == {
        "supported": ["2026-07-28", "2025-11-25", "2025-06-18", "2025-03-26", "2024-11-05"],
        "requested": "1900-01-01",
    }


def test_an_absurdly_long_version_is_not_repeated_in_full() -> None:
    error = errors.unsupported_version("9" * 5_000)
    assert isinstance(error.data, dict)
    assert len(error.data["requested"]) == 100

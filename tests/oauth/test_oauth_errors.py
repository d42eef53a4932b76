"""The error tree: what is sent to a client, and what is not."""

import re

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from oauth import errors
from oauth.errors import InvalidGrant, InvalidRedirectUri, OAuthError

ALLOWED = re.compile(r"[\x20-\x21\x23-\x5b\x5d-\x7e]*")  # RFC 6749 5.2


@pytest.mark.parametrize(
    ("error", "code", "status"),
    [
        (errors.InvalidRequest, "invalid_request", 400),
        (errors.InvalidClient, "invalid_client", 401),
        (errors.InvalidGrant, "invalid_grant", 400),
        (errors.InvalidScope, "invalid_scope", 400),
        (errors.InvalidTarget, "invalid_target", 400),
        (errors.UnsupportedGrantType, "unsupported_grant_type", 400),
        (errors.UnsupportedResponseType, "unsupported_response_type", 400),
        (errors.AccessDenied, "access_denied", 400),
        (errors.RequestNotSupported, "request_not_supported", 400),
        (errors.RequestUriNotSupported, "request_uri_not_supported", 400),
        (errors.InvalidClientMetadata, "invalid_client_metadata", 400),
        (errors.ServerBusy, "temporarily_unavailable", 503),
        (errors.TooManyRequests, "temporarily_unavailable", 429),
    ],
)
def test_each_error_carries_its_registered_code(
    error: type[OAuthError], code: str, status: int
) -> None:
    raised = error("A hint.")
    assert raised.body() == {"error": code, "error_description": "A hint."}
    assert raised.status == status


def test_the_debug_text_is_for_the_log_alone() -> None:
    error = InvalidGrant("The code has expired.", debug="grant=17")
    assert error.debug == "grant=17"
    assert "17" not in str(error)
    assert "17" not in str(error.body())


def test_an_error_without_a_hint_has_no_description() -> None:
    assert InvalidGrant().body() == {"error": "invalid_grant"}


@settings(deadline=None)
@given(st.text())
def test_a_description_holds_only_what_the_rfc_allows(hint: str) -> None:
    message = InvalidGrant(hint).body().get("error_description", "")
    assert ALLOWED.fullmatch(message)
    assert len(message) == len(hint)


def test_quotation_marks_stay_readable() -> None:
    hint = 'Say "code" \\ nothing else\n'
    assert InvalidGrant(hint).body()["error_description"] == "Say 'code' ? nothing else?"


def test_a_refused_redirect_uri_is_named_and_cut_to_a_readable_length() -> None:
    error = InvalidRedirectUri("https://e.example/" + "a" * 5_000, "It is too long.")
    assert error.hint.startswith("It is too long. Redirect URI: https://e.example/aaa")
    assert len(error.hint) < 200
    assert len(error.uri) > 5_000


def test_a_missing_redirect_uri_needs_no_name() -> None:
    assert InvalidRedirectUri("", "There is none.").hint == "There is none."

"""PKCE: S256 and nothing else."""

from base64 import urlsafe_b64encode
from hashlib import sha256

import pytest

from oauth.errors import InvalidRequest
from oauth.grants import pkce

# The worked example of RFC 7636, appendix B.
VERIFIER = "dBjftJeZ4CVP-mB92K27uhbUJU1p1r_wW1gFWFOEjXk"
CHALLENGE = "E9Melhoa2OwvFrEMTJguCHaoeK1t8URWbuGJSstw-cM"


def test_the_example_of_the_rfc_holds() -> None:
    assert pkce.check_challenge(CHALLENGE, "S256") == CHALLENGE
    assert pkce.verifier_matches(VERIFIER, CHALLENGE)


@pytest.mark.parametrize(
    "challenge",
    [
        None,
        "",
        "a",
        CHALLENGE[:-1],
        CHALLENGE + "A",
        CHALLENGE + "=",
        CHALLENGE[:-1] + "=",
        CHALLENGE[:-1] + "+",
        CHALLENGE[:-1] + "/",
        CHALLENGE[:-1] + "\n",
        CHALLENGE + "\n",
        CHALLENGE[:-1] + "é",
        CHALLENGE[:-1] + "\0",
    ],
)
def test_a_challenge_is_forty_three_characters_of_base64url(challenge: str | None) -> None:
    with pytest.raises(InvalidRequest, match="code_challenge"):
        pkce.check_challenge(challenge, "S256")


@pytest.mark.parametrize("method", [None, "", "plain", "s256", "S512", "S256 "])
def test_every_method_but_s256_is_refused_and_absence_means_plain(method: str | None) -> None:
    with pytest.raises(InvalidRequest, match="must be S256"):
        pkce.check_challenge(CHALLENGE, method)


@pytest.mark.parametrize(
    "verifier",
    ["", CHALLENGE, VERIFIER[:-1], VERIFIER + "k", VERIFIER.lower(), VERIFIER + "\n", "é" * 43],
)
def test_another_verifier_never_matches(verifier: str) -> None:
    assert not pkce.verifier_matches(verifier, CHALLENGE)


def make_challenge(verifier: str) -> str:
    return urlsafe_b64encode(sha256(verifier.encode()).digest()).decode().rstrip("=")


@pytest.mark.parametrize("verifier", ["a" * 42, "a" * 129, "a" * 42 + "+", "a" * 42 + "é"])
def test_a_verifier_of_the_wrong_shape_fails_although_its_hash_is_right(verifier: str) -> None:
    assert not pkce.verifier_matches(verifier, make_challenge(verifier))


@pytest.mark.parametrize("verifier", ["a" * 43, "-._~" * 32])
def test_the_shortest_and_the_longest_verifier_match(verifier: str) -> None:
    assert pkce.verifier_matches(verifier, make_challenge(verifier))


@pytest.mark.parametrize("challenge", ["", "é" * 43, CHALLENGE + "=", VERIFIER])
def test_a_stored_challenge_that_is_no_hash_matches_nothing(challenge: str) -> None:
    assert not pkce.verifier_matches(VERIFIER, challenge)

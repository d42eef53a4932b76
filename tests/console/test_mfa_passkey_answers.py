"""Answers that no browser gives: each is a plain error, whatever is in it."""

import json
from base64 import urlsafe_b64encode
from typing import Any

import pytest

from console.account import passkey_answers
from console.account.passkey_answers import BadAnswer
from foundation.limits import Limit
from tests.console import second_factors
from tests.console.second_factors import (
    KEY_ATTACHED,
    SECURITY,
    USER_PRESENT,
    USER_VERIFIED,
    Device,
    FactorVisitor,
    alerts,
    encode_base64,
    options_of,
    page,
    sign_in_options,
)

pytestmark = pytest.mark.usefixtures("domain")
REFUSED = "Passkey not accepted"
DEEP = "[" * 20_000
GARBAGE = [
    "",
    " ",
    "null",
    "0",
    "[]",
    "{}",
    '"text"',
    "{",
    DEEP,
    '{"a":' * 20_000,
    "NaN",
    "\x00",
    '{"id":"\\ud800","rawId":"\\ud800","type":"public-key","response":{}}',
    "x" * 900_000,
    '{"id":"AA","id":"AB"}',
    '{"type":"public-key","id":"AAAA","rawId":"AAAA","response":null}',
    '{"type":"public-key","id":"AAAA","rawId":"AAAA","response":[]}',
    '{"type":"public-key","id":{},"rawId":{},"response":{}}',
    '{"type":"public-key","id":1,"rawId":1,"response":{}}',
]


@pytest.mark.usefixtures("device")
@pytest.mark.parametrize("text", GARBAGE, ids=lambda text: repr(text[:24]))
def test_garbage_in_place_of_an_answer_is_a_plain_error(visitor: FactorVisitor, text: str) -> None:
    sign_in_options(visitor.browser)
    answer = visitor.browser.post("/signin/passkey", {"credential": text})
    assert answer["Location"] == "/signin"
    assert REFUSED in second_factors.notices(visitor.browser)

    visitor.sign_in()
    shown = page(visitor.browser.post("/signin/code", {"credential": text}))
    assert REFUSED in alerts(shown)
    assert not visitor.is_signed_in


@pytest.mark.parametrize("text", GARBAGE, ids=lambda text: repr(text[:24]))
def test_garbage_in_place_of_a_new_passkey_is_a_plain_error(
    visitor: FactorVisitor, text: str
) -> None:
    visitor.sign_in()
    visitor.confirm()
    shown = page(visitor.browser.post(f"{SECURITY}/passkeys/add", {"credential": text}))
    assert "not added" in alerts(shown)


WRONG = [
    None,
    0,
    1.5,
    True,
    [],
    {},
    "",
    "=",
    "a",
    "+/==",
    "ä",
    "\ud800",
    "AAAA",
    DEEP,
    "A" * 32_000,
]
PARTS = ["clientDataJSON", "authenticatorData", "signature", "userHandle"]


@pytest.mark.parametrize("part", PARTS)
def test_no_part_of_an_answer_can_be_of_another_kind(
    visitor: FactorVisitor, device: Device, part: str, settings: Any
) -> None:
    settings.HALO_RATE_SIGNIN = Limit.parse("100/m")
    for value in WRONG:
        sent = replace_part(device.use(sign_in_options(visitor.browser)), part, value)
        answer = visitor.browser.post("/signin/passkey", {"credential": sent})
        assert answer["Location"] == "/signin", value
        assert not visitor.is_signed_in, value


@pytest.mark.parametrize("part", ["clientDataJSON", "attestationObject"])
def test_no_part_of_a_new_passkey_can_be_of_another_kind(visitor: FactorVisitor, part: str) -> None:
    visitor.sign_in()
    visitor.confirm()
    shown = page(visitor.browser.get(f"{SECURITY}/passkeys/add"))
    nested = urlsafe_b64encode(b"\x81" * 20_000).decode().rstrip("=")
    for value in [*WRONG, nested]:
        sent = {"credential": replace_part(Device().make(options_of(shown)), part, value)}
        shown = page(visitor.browser.post(f"{SECURITY}/passkeys/add", sent))
        assert "not added" in alerts(shown), value


def replace_part(answer: str, part: str, value: Any) -> str:
    message = json.loads(answer)
    message["response"][part] = value
    return json.dumps(message)


def test_what_the_browser_saw_has_to_be_an_object(domain: str) -> None:
    assert domain
    message = json.loads(Device().use({"publicKey": {"challenge": "AAAA"}}))
    for seen in (b"[]", b"\xff", b"null", b'{"type":"webauthn.get","type":"webauthn.get"}'):
        message["response"]["clientDataJSON"] = encode_base64(seen)
        with pytest.raises(BadAnswer):
            passkey_answers.parse_authentication(json.dumps(message))


def test_two_spellings_of_one_id_are_one_passkey(domain: str) -> None:
    assert domain
    message = json.loads(Device().use({"publicKey": {"challenge": "AAAA"}}))
    read = [
        passkey_answers.parse_authentication(json.dumps(message | {"id": one, "rawId": one}))
        for one in ("YQ", "YR")
    ]
    assert [one.credential_id for one in read] == ["YQ", "YQ"]


def test_flags_of_the_driver_are_those_of_the_specification() -> None:
    assert (USER_PRESENT, USER_VERIFIED, KEY_ATTACHED) == (1, 4, 64)

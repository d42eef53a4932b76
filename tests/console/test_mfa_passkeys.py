"""Passkeys: added, used in place of a password, and everything about an answer that is held."""

import json
from base64 import urlsafe_b64decode
from typing import Any

import pytest
from django.test import Client
from fido2 import cbor

from audit.models import SecurityEvent
from tests.console import second_factors
from tests.console.second_factors import (
    PASSWORD,
    SECURITY,
    USER_PRESENT,
    USER_VERIFIED,
    Device,
    FactorVisitor,
    add_passkey,
    alerts,
    encode_base64,
    options_of,
    page,
    sign_in_options,
    sign_in_with,
)
from tests.drivers.oauth_client import AUTHORIZE
from workspace.models import User

pytestmark = pytest.mark.usefixtures("domain")
NEXT = f"{AUTHORIZE}?client_id=x&state=a%2Fb"
REFUSED = "Passkey not accepted"


def test_a_passkey_signs_in_without_a_password_and_leads_to_what_was_asked(
    visitor: FactorVisitor, device: Device
) -> None:
    answer = sign_in_with(device, visitor.browser, next=NEXT)
    assert answer["Location"] == NEXT
    assert visitor.is_signed_in
    overview = page(visitor.browser.get(SECURITY)).text
    assert "Phone" in overview
    assert "Last used:" in overview


def test_the_session_is_another_than_before_and_lives_as_long_as_any(
    visitor: FactorVisitor, device: Device
) -> None:
    sign_in_options(visitor.browser)
    key, lives = visitor.browser.session.session_key, visitor.browser.session.get_expiry_age()
    sign_in_with(device, visitor.browser)
    assert visitor.browser.session.session_key != key
    assert lives == 600
    assert visitor.browser.session.get_expiry_age() == 14 * 86_400


def test_after_the_password_the_passkey_is_the_second_step(
    visitor: FactorVisitor, device: Device
) -> None:
    assert visitor.sign_in(next=NEXT)["Location"] == "/signin/code"
    asked = page(visitor.browser.get("/signin/code"))
    assert "Recovery code" in asked.text
    answer = visitor.browser.post("/signin/code", {"credential": device.use(options_of(asked))})
    assert answer["Location"] == NEXT
    assert visitor.is_signed_in


def test_a_passkey_is_the_whole_way_in_also_for_who_is_half_in(
    visitor: FactorVisitor, device: Device
) -> None:
    visitor.sign_in()
    assert sign_in_with(device, visitor.browser, next=NEXT)["Location"] == NEXT
    assert visitor.is_signed_in


def test_a_passkey_confirms_that_it_is_you(visitor: FactorVisitor, device: Device) -> None:
    sign_in_with(device, visitor.browser)
    path = "/signin/confirm/passkey"
    assert visitor.browser.get(f"{SECURITY}/app")["Location"].startswith("/signin/confirm?next=")
    wrong = visitor.browser.post(path, {"credential": "{}", "next": f"{SECURITY}/app"})
    assert REFUSED in alerts(page(wrong))

    asked = page(visitor.browser.get(path, {"next": f"{SECURITY}/app"}))
    sent = {"credential": device.use(options_of(asked)), "next": f"{SECURITY}/app"}

    assert visitor.browser.post(path, sent)["Location"] == f"{SECURITY}/app"
    assert visitor.browser.get(f"{SECURITY}/app").status_code == 200


def test_somebody_switched_off_does_not_get_in(
    visitor: FactorVisitor, device: Device, ada: User
) -> None:
    User.objects.filter(pk=ada.pk).update(is_active=False)
    assert sign_in_with(device, visitor.browser)["Location"] == "/signin/inactive"
    assert not visitor.is_signed_in


@pytest.mark.parametrize(
    "changed",
    [
        {"origin": "https://localhost:8000"},
        {"origin": "http://localhost:8001"},
        {"origin": "http://evil.localhost:8000"},
        {"origin": "null"},
        {"relying_party": "evil.example"},
        {"flags": USER_PRESENT},
        {"flags": USER_VERIFIED},
        {"flags": 0},
        {"client": {"type": "webauthn.create"}},
        {"client": {"challenge": "AAAA"}},
        {"client": {"challenge": None}},
        {"client": {"crossOrigin": True}},
        {"client": {"topOrigin": "https://evil.example"}},
        {"user_handle": ""},
        {"user_handle": "AAAA"},
        {"user_handle": encode_base64(bytes(16))},
        {"credential_id": b"another"},
        pytest.param({"credential_id": b"x" * 1024}, id="credential-of-1-KiB"),
        pytest.param({"key": Device().key}, id="another-key"),
    ],
    ids=repr,
)
def test_an_answer_with_one_thing_wrong_signs_nobody_in(
    visitor: FactorVisitor, device: Device, changed: dict[str, Any]
) -> None:
    answer = sign_in_with(device.but(**changed), visitor.browser, next=NEXT)

    assert answer["Location"].startswith("/signin?next=")
    assert not visitor.is_signed_in
    assert REFUSED in second_factors.notices(visitor.browser)
    assert SecurityEvent.objects.get(kind="passkey_refused").count == 1


def test_an_answer_is_good_once_and_for_the_browser_that_asked(
    visitor: FactorVisitor, device: Device
) -> None:
    sent = {"credential": device.use(sign_in_options(visitor.browser))}
    other = Client()
    sign_in_options(other)
    other.post("/signin/passkey", sent)
    assert "_auth_user_id" not in other.session

    visitor.browser.post("/signin/passkey", sent)
    assert visitor.is_signed_in
    visitor.sign_out()
    visitor.browser.post("/signin/passkey", sent)
    assert not visitor.is_signed_in


def test_a_refused_answer_spends_its_challenge(visitor: FactorVisitor, device: Device) -> None:
    options = sign_in_options(visitor.browser)
    visitor.browser.post("/signin/passkey", {"credential": device.but(flags=0).use(options)})
    visitor.browser.post("/signin/passkey", {"credential": device.use(options)})
    assert not visitor.is_signed_in


def test_a_passkey_of_somebody_else_is_no_second_step(
    visitor: FactorVisitor, device: Device
) -> None:
    User.objects.create_user("ben@acme.example", PASSWORD)
    ben, other = FactorVisitor(email="ben@acme.example"), Device()
    ben.sign_in()
    ben.confirm()
    add_passkey(ben, other)
    visitor.sign_in()
    options = options_of(page(visitor.browser.get("/signin/code")))

    shown = page(visitor.browser.post("/signin/code", {"credential": other.use(options)}))

    assert REFUSED in alerts(shown)
    assert not visitor.is_signed_in
    assert SecurityEvent.objects.get(kind="second_step_failed").detail == "passkey"
    retried = {"credential": device.use(options_of(shown))}
    assert visitor.browser.post("/signin/code", retried)["Location"] == "/"


@pytest.mark.parametrize(
    "changed",
    [
        {"origin": "http://evil.localhost:8000"},
        {"relying_party": "evil.example"},
        {"flags": USER_PRESENT},
        {"client": {"type": "webauthn.get"}},
        {"client": {"challenge": "AAAA"}},
        {"client": {"crossOrigin": True}},
    ],
    ids=repr,
)
def test_a_passkey_with_one_thing_wrong_is_not_added(
    visitor: FactorVisitor, ada: User, changed: dict[str, Any]
) -> None:
    visitor.sign_in()
    visitor.confirm()
    shown = page(add_passkey(visitor, Device(**changed), name="My phone"))
    assert "not added" in alerts(shown)
    assert shown.one("input", name="name").attributes["value"] == "My phone"
    assert not ada.authenticator_set.exists()
    retried = {"credential": Device().make(options_of(shown)), "name": "My phone"}
    added = visitor.browser.post(f"{SECURITY}/passkeys/add", retried)
    assert added["Location"] == f"{SECURITY}/codes"


def test_a_passkey_without_a_key_or_of_an_unknown_kind_is_not_added(
    visitor: FactorVisitor, ada: User
) -> None:
    visitor.sign_in()
    visitor.confirm()
    for change in (answer_without_key, with_unknown_algorithm):
        options = options_of(page(visitor.browser.get(f"{SECURITY}/passkeys/add")))
        sent = {"credential": change(Device(), options)}
        assert alerts(page(visitor.browser.post(f"{SECURITY}/passkeys/add", sent)))
    assert not ada.authenticator_set.exists()


def answer_without_key(device: Device, options: Any) -> str:
    return rewritten(device.make(options), lambda data: data[:32] + b"\x05" + data[33:37])


def with_unknown_algorithm(device: Device, options: Any) -> str:
    head = 55 + len(device.credential_id)
    odd = cbor.encode({1: 2, 3: -70_000, -1: 1, -2: bytes(32), -3: bytes(32)})
    return rewritten(device.make(options), lambda data: data[:head] + odd)


def rewritten(answer: str, change: Any) -> str:
    message = json.loads(answer)
    padded = message["response"]["attestationObject"] + "=="
    statement: Any = cbor.decode(urlsafe_b64decode(padded))
    statement = dict(statement) | {"authData": change(statement["authData"])}
    message["response"]["attestationObject"] = encode_base64(cbor.encode(statement))
    return json.dumps(message)


def test_the_same_passkey_is_not_added_twice_by_anyone(device: Device) -> None:
    User.objects.create_user("ben@acme.example", PASSWORD)
    ben = FactorVisitor(email="ben@acme.example")
    ben.sign_in()
    ben.confirm()
    assert "not added" in alerts(page(add_passkey(ben, device)))


def test_a_device_is_given_which_passkeys_there_are_already(
    visitor: FactorVisitor, device: Device
) -> None:
    sign_in_with(device, visitor.browser)
    visitor.confirm()
    options = options_of(page(visitor.browser.get(f"{SECURITY}/passkeys/add")))["publicKey"]
    assert [one["id"] for one in options["excludeCredentials"]] == [
        encode_base64(device.credential_id)
    ]
    assert options["rp"] == {"id": "localhost", "name": "Halo MCP"}
    assert options["authenticatorSelection"]["residentKey"] == "required"
    assert options["authenticatorSelection"]["userVerification"] == "required"


def test_what_else_a_browser_says_is_not_kept(visitor: FactorVisitor, ada: User) -> None:
    visitor.sign_in()
    visitor.confirm()
    device = Device()
    options = options_of(page(visitor.browser.get(f"{SECURITY}/passkeys/add")))
    message = json.loads(device.make(options)) | {"clientExtensionResults": {"junk": "x" * 999}}
    message["response"]["transports"] = ["internal"]
    visitor.browser.post(f"{SECURITY}/passkeys/add", {"credential": json.dumps(message)})
    kept = ada.authenticator_set.get(type="webauthn").data["credential"]
    assert set(kept) == {"id", "rawId", "type", "response"}
    assert set(kept["response"]) == {"clientDataJSON", "attestationObject"}


def test_a_passkey_is_renamed_and_removed_by_its_owner_only(
    visitor: FactorVisitor, device: Device, ada: User
) -> None:
    key = ada.authenticator_set.get(type="webauthn").pk
    User.objects.create_user("ben@acme.example", PASSWORD)
    ben = FactorVisitor(email="ben@acme.example")
    ben.sign_in()
    ben.confirm()
    for act in ("rename", "remove"):
        for pk in (key, 10**30, 0):
            path = f"{SECURITY}/passkeys/{pk}/{act}"
            assert ben.browser.get(path).status_code == 404
            assert ben.browser.post(path, {"name": "Mine"}).status_code == 404

    sign_in_with(device, visitor.browser)
    visitor.confirm()
    rename, remove = f"{SECURITY}/passkeys/{key}/rename", f"{SECURITY}/passkeys/{key}/remove"
    for wrong in ("", "\x00", "x" * 61):
        assert alerts(page(visitor.browser.post(rename, {"name": wrong})))
    assert visitor.browser.post(rename, {"name": "<b>Laptop"})["Location"] == SECURITY
    assert "<b>Laptop" in page(visitor.browser.get(SECURITY)).text
    assert "Remove “ <b>Laptop ”?" in page(visitor.browser.get(remove)).text
    assert visitor.browser.post(remove)["Location"] == SECURITY
    assert not ada.authenticator_set.exists()


def test_where_browsers_keep_none_none_is_offered(
    visitor: FactorVisitor, device: Device, settings: Any
) -> None:
    settings.HALO_PASSKEY_DOMAIN, settings.HALO_PUBLIC_URL = "", "http://192.0.2.7:8000"
    assert not page(visitor.browser.get("/signin")).all("form", action="/signin/passkey")
    visitor.sign_in()
    assert not page(visitor.browser.get("/signin/code")).all("script", id="passkey-options")
    other = FactorVisitor()
    sign_in_with(device, other.browser)
    assert not other.is_signed_in

    User.objects.create_user("ben@acme.example", PASSWORD)
    ben = FactorVisitor(email="ben@acme.example")
    ben.sign_in()
    ben.confirm()
    assert "http://192.0.2.7:8000" in page(ben.browser.get(SECURITY)).text
    assert ben.browser.get(f"{SECURITY}/passkeys/add")["Location"] == SECURITY

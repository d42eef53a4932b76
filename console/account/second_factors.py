"""Apps, recovery codes and passkeys: how they are stored, and when one of them is valid.

No row contains a usable secret in clear text: keys of apps and the seed of recovery codes are
sealed. A code of an app is valid once: its time step is stored with the app, and only later ones
are accepted afterwards (RFC 6238 section 5.2). Used recovery codes are marked.
"""

import base64
import hmac
import re
from collections.abc import Callable
from typing import Any, Final

import structlog
from allauth.core import context
from allauth.mfa.adapter import DefaultMFAAdapter
from allauth.mfa.models import Authenticator
from allauth.mfa.totp.internal import auth as totp
from allauth.mfa.webauthn.internal import auth as webauthn
from django.conf import settings
from django.contrib.auth.base_user import AbstractBaseUser
from django.db import transaction
from django.http import HttpRequest
from django.utils.translation import gettext as _
from fido2.cose import CoseKey

from audit import record
from console.account import passkey_answers
from console.account.passkey_answers import BadAnswer, PasskeyAnswer
from foundation import sealing
from foundation.resealing import SealedColumn
from oauth.endpoints import replies
from workspace.models import User

log = structlog.get_logger(__name__)

Kind = Authenticator.Type

NAME: Final = "Halo MCP"
APP_CODE: Final = re.compile(r"[0-9]{6}")
RECOVERY_CODE: Final = re.compile(r"[0-9]{8}")
MAX_PASSKEYS: Final = 20


class WrongCode(Exception):
    """Neither a code of the app nor an unused recovery code."""


class UnreadableFactor(WrongCode):
    """No code can be right: the key that sealed the user's factor is missing on this server."""


class SecondFactorAdapter(DefaultMFAAdapter):
    """allauth's hooks for storing and offering factors."""

    error_messages = DefaultMFAAdapter.error_messages | {
        "cannot_generate_recovery_codes": _("Add an authenticator app or a passkey first."),
    }

    def get_totp_issuer(self) -> str:
        return NAME

    def encrypt(self, text: str) -> str:
        """Seals for the user who is signed in, the only one who can add factors."""
        owner = str(context.request.user.pk)
        return _join_value(owner, sealing.seal(text.encode(), context=_place(owner)))

    def decrypt(self, encrypted_text: str) -> str:
        """Decrypts a value of `encrypt`. Raises SealBroken, also for one that was never sealed."""
        owner, sealed = _split_value(encrypted_text)
        return sealing.unseal(sealed, context=_place(owner)).decode()

    def generate_authenticator_name(self, user: AbstractBaseUser, type: Any) -> str:  # noqa: A002  allauth's signature
        count = Authenticator.objects.filter(user_id=user.pk, type=type).count()
        return _("Passkey %(n)d") % {"n": count + 1}

    def get_public_key_credential_rp_entity(self) -> dict[str, str]:
        return {"id": settings.HALO_PASSKEY_DOMAIN or settings.PUBLIC_HOST, "name": NAME}

    def get_public_key_credential_user_entity(self, user: AbstractBaseUser) -> dict[str, Any]:
        # The handle on a device does not identify a person (WebAuthn Level 3, 14.6.1).
        return {"id": user.pk.bytes, "display_name": str(user), "name": str(user)}


def list_by_kind(user: AbstractBaseUser, kind: str) -> Any:
    """Returns the rows of one kind of a user, oldest first."""
    return Authenticator.objects.filter(user_id=user.pk, type=kind).order_by("pk")


def has_factor(user: AbstractBaseUser) -> bool:
    """Returns whether sign-in needs a second factor."""
    return bool(SecondFactorAdapter().is_mfa_enabled(user, [Kind.TOTP, Kind.WEBAUTHN]))


def codes_left(codes: Authenticator) -> int:
    """Returns how many recovery codes are unused, without decrypting the seed."""
    used: int = codes.data["used_mask"]
    return int(settings.MFA_RECOVERY_CODE_COUNT) - used.bit_count()


def step_of(secret: str, typed: str, *, after: int = -1) -> int | None:
    """Returns the time step of this code, if it is later than `after`; else None."""
    if not APP_CODE.fullmatch(typed):
        return None
    steps = [step for step in totp.yield_hotp_counters_from_time() if step > after]
    codes = {step: totp.format_hotp_value(totp.hotp_value(secret, step)) for step in steps}
    return next((step for step in steps if hmac.compare_digest(codes[step], typed)), None)


def accept_code(request: HttpRequest, user: User, typed: str) -> Authenticator:
    """Uses up a code of the app or a recovery code, and returns its row.

    Raises WrongCode, which is recorded.
    """
    digits = re.sub(r"[\s-]", "", typed)
    try:
        return _spend(user, digits)
    except sealing.SealBroken as broken:
        log.exception("second_factor_unreadable", user_id=str(user.pk))
        _report(request, user, "code")
        raise UnreadableFactor from broken
    except WrongCode:
        _report(request, user, "code")
        raise


def accept_passkey(request: HttpRequest, user: User, text: str) -> Authenticator:
    """Returns the user's passkey that gave this response. Raises BadAnswer, which is recorded."""
    try:
        return _matching(user, passkey_answers.parse_authentication(text))
    except BadAnswer:
        _report(request, user, "passkey")
        raise


def accept_passkey_of_anyone(request: HttpRequest, text: str) -> Authenticator:
    """Returns the passkey of a response of any user. Raises BadAnswer, which is recorded."""
    try:
        answer = passkey_answers.parse_authentication(text)
        return _matching(_owner(answer), answer)
    except BadAnswer as bad:
        address = replies.address_of(request)
        record.security_event("passkey_refused", address=address, detail=str(bad))
        raise


def accept_new_passkey(user: User, text: str) -> dict[str, Any]:
    """Returns the document of a passkey that was just created for this user. Raises BadAnswer."""
    answer = passkey_answers.parse_registration(text)
    known = Authenticator.objects.filter(type=Kind.WEBAUTHN)
    data = _verify_response(lambda: webauthn.complete_registration(answer.document()))
    if data.credential_data.public_key.get(3) not in CoseKey.supported_algorithms():
        raise BadAnswer("an algorithm that was not offered")
    # Section 7.1: the id of a passkey belongs to one account.
    if known.filter(data__credential__id=answer.credential_id).exists():
        raise BadAnswer("known already")
    if known.filter(user_id=user.pk).count() >= MAX_PASSKEYS:
        raise BadAnswer("too many passkeys")
    return answer.document()


def record_change(
    request: HttpRequest, kind: str, user: User, *, detail: str, organization_id: str = ""
) -> None:
    """Records a change of a user's sign-in methods; docs/operate/security-events.md lists them."""
    record.security_event(
        kind,
        address=replies.address_of(request),
        subject=str(user.pk),
        user_id=str(user.pk),
        organization_id=organization_id,
        detail=detail,
    )


def remove_all(user: User) -> None:
    """Removes all second factors of a user."""
    Authenticator.objects.filter(user_id=user.pk).delete()


def note_step(user: User, step: int) -> None:
    """Stores the step of the code that enabled the app: it is used up as well."""
    app = list_by_kind(user, Kind.TOTP).get()
    app.data["last_step"] = step
    app.save(update_fields=["data"])


@transaction.atomic
def _spend(user: User, digits: str) -> Authenticator:
    kind = Kind.RECOVERY_CODES if RECOVERY_CODE.fullmatch(digits) else Kind.TOTP
    # Locked: of two requests with the same code, one finds it used.
    row: Authenticator | None = list_by_kind(user, kind).select_for_update().first()
    if row is None:
        raise WrongCode
    _check_owner(row)
    if kind == Kind.RECOVERY_CODES:
        if not row.wrap().validate_code(digits):
            raise WrongCode
        return row
    secret = SecondFactorAdapter().decrypt(row.data["secret"])
    step = step_of(secret, digits, after=row.data.get("last_step", -1))
    if step is None:
        raise WrongCode
    row.data["last_step"] = step
    row.save(update_fields=["data"])
    return row


def _owner(answer: PasskeyAnswer) -> User:
    user = User.objects.filter(pk=answer.user_id).first()
    if user is None:
        raise BadAnswer("unknown factor")
    return user


def _check_owner(row: Authenticator) -> None:
    # A key that was copied from another user's own row would decrypt; it names its user.
    sealed = row.data.get("secret") or row.data.get("seed") or ""
    if not sealed.startswith(f"{row.user_id}:"):
        raise sealing.SealBroken("This was sealed for somebody else.")


def _place(owner: str) -> bytes:
    return f"mfa.authenticator:{owner}".encode()


def _join_value(owner: str, sealed: bytes) -> str:
    return f"{owner}:{base64.b64encode(sealed).decode()}"


def _split_value(text: str) -> tuple[str, bytes]:
    """Splits a value into user and sealed part. Raises SealBroken if it was never sealed."""
    owner, _colon, encoded = text.partition(":")
    try:
        return owner, base64.b64decode(encoded, validate=True)
    except ValueError as error:
        raise sealing.SealBroken("This is no sealed value.") from error


def _sealed_member(row: Authenticator) -> str:
    """The member of a row's data that is sealed: the key of an app, or the seed of codes."""
    return "secret" if row.type == Kind.TOTP else "seed"


def _read_sealed(row: Authenticator) -> bytes:
    _check_owner(row)
    return _split_value(row.data[_sealed_member(row)])[1]


def _reseal(row: Authenticator, sealed: bytes) -> None:
    row.data[_sealed_member(row)] = _join_value(str(row.user_id), sealed)
    row.save(update_fields=["data"])


SEALED: Final = SealedColumn(
    name="apps and recovery codes",
    rows=lambda: Authenticator.objects.filter(type__in=[Kind.TOTP, Kind.RECOVERY_CODES]).only(
        "type", "user_id", "data"
    ),
    read=_read_sealed,
    write=_reseal,
    context=lambda row: _place(str(row.user_id)),
)


def _matching(user: User, answer: PasskeyAnswer) -> Authenticator:
    found: Authenticator = _verify_response(
        lambda: webauthn.complete_authentication(user, answer.document())
    )
    return found


def _verify_response(judge: Callable[[], Any]) -> Any:
    """Verifies a response with the library, which then uses the challenge up.

    Its parsers of CBOR, COSE keys and authenticator data raise many types of exceptions; all mean
    that the response is not accepted.
    """
    try:
        return judge()
    except Exception as error:
        log.info("passkey_refused", error=type(error).__name__)
        raise BadAnswer("it does not hold") from error
    finally:
        webauthn.clear_state()


def _report(request: HttpRequest, user: User, detail: str) -> None:
    record_change(request, "second_step_failed", user, detail=detail)

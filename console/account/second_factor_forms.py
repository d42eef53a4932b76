"""The forms of second factors: allauth's, with checks by `second_factors`."""

from typing import Any, Final

from allauth.core import context
from allauth.mfa.base.forms import AuthenticateForm, ReauthenticateForm
from allauth.mfa.models import Authenticator
from allauth.mfa.totp.internal import auth as totp
from allauth.mfa.webauthn.forms import (
    AddWebAuthnForm,
    AuthenticateWebAuthnForm,
    EditWebAuthnForm,
    LoginWebAuthnForm,
    ReauthenticateWebAuthnForm,
)
from django import forms
from django.core.exceptions import ValidationError
from django.utils.translation import gettext_lazy as _

from console.account import guesses, passkey_answers, second_factors
from console.account.passkey_answers import BadAnswer
from console.account.second_factors import SecondFactorAdapter, UnreadableFactor, WrongCode
from foundation.sealing import SealBroken
from workspace.models import User

UNREADABLE: Final = _(
    "This server cannot check codes of this account: a key is missing. Use a passkey. The operator "
    "of this server can restore the key."
)
WRONG_CODE: Final = _("Incorrect or used code. Wait for the next one.")
WRONG_PASSKEY: Final = _("Passkey not accepted. Try again or sign in another way.")
NOT_ADDED: Final = _("Passkey not added. Reload the page and try again.")
STALE_KEY: Final = _("The previous key expired. Add this new one to your app.")
TYPED_CODE: Final = 40  # characters that people copy around a code


class CodeField(forms.CharField):
    def __init__(self) -> None:
        super().__init__(max_length=TYPED_CODE)


class AnswerField(forms.CharField):
    """The value written by static/halo/passkeys.js; no user types it: one message is enough."""

    def __init__(self, fault: Any = WRONG_PASSKEY) -> None:
        faults = dict.fromkeys(("required", "max_length", "null_characters_not_allowed"), fault)
        super().__init__(max_length=passkey_answers.MAX_CHARACTERS, error_messages=faults)


class SecondStepForm(AuthenticateForm):
    code = CodeField()

    def clean_code(self) -> str:
        self.authenticator = _verify_code(self.user, self.cleaned_data["code"])
        return ""


class ConfirmCodeForm(ReauthenticateForm):
    code = CodeField()

    def clean_code(self) -> str:
        self.authenticator = _verify_code(self.user, self.cleaned_data["code"])
        return ""


class AddAppForm(forms.Form):
    """Adds an app with a code that proves possession of its key; the session holds it sealed."""

    code = CodeField()

    def __init__(self, *args: Any, user: User, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self.user = user
        # Kept while the page is loaded again: the app may have scanned it already.
        waiting = _waiting_key()
        self.is_stale = self.is_bound and not waiting
        self.secret = waiting or _new_key()
        self.step = -1

    def clean_code(self) -> str:
        if self.is_stale:
            raise ValidationError(STALE_KEY)
        tries = guesses.charge_code(context.request, self.user)
        step = second_factors.step_of(self.secret, "".join(self.cleaned_data["code"].split()))
        if step is None:
            raise ValidationError(WRONG_CODE)
        guesses.give_back(tries)
        self.step = step
        return ""


class PasskeySecondStepForm(AuthenticateWebAuthnForm):
    credential = AnswerField()  # type: ignore[assignment]  # parsed by us, and strictly

    def clean_credential(self) -> Authenticator:
        return _judged_passkey(self.user, self.cleaned_data["credential"])


class PasskeyConfirmForm(ReauthenticateWebAuthnForm):
    credential = AnswerField()  # type: ignore[assignment]  # parsed by us, and strictly

    def clean_credential(self) -> Authenticator:
        return _judged_passkey(self.user, self.cleaned_data["credential"])


class PasskeySignInForm(LoginWebAuthnForm):
    credential = AnswerField()  # type: ignore[assignment]  # parsed by us, and strictly

    def clean_credential(self) -> Authenticator:
        text = self.cleaned_data["credential"]
        try:
            return second_factors.accept_passkey_of_anyone(context.request, text)
        except BadAnswer as bad:
            raise ValidationError(WRONG_PASSKEY) from bad


class NameField(forms.CharField):
    def __init__(self, *, required: bool) -> None:
        super().__init__(max_length=60, required=required)


class AddPasskeyForm(AddWebAuthnForm):
    name = NameField(required=False)
    credential = AnswerField(NOT_ADDED)  # type: ignore[assignment]  # parsed by us, and strictly

    def clean_credential(self) -> dict[str, Any]:
        try:
            return second_factors.accept_new_passkey(self.user, self.cleaned_data["credential"])
        except BadAnswer as bad:
            raise ValidationError(NOT_ADDED) from bad

    def clean(self) -> dict[str, Any]:
        # Everything is checked by now; allauth would check again, with a used challenge.
        return dict(self.cleaned_data)


class RenamePasskeyForm(EditWebAuthnForm):
    name = NameField(required=True)


def _verify_code(user: User, typed: str) -> Authenticator:
    tries = guesses.charge_code(context.request, user)
    try:
        accepted = second_factors.accept_code(context.request, user, typed)
    except UnreadableFactor as unreadable:
        raise ValidationError(UNREADABLE) from unreadable
    except WrongCode as wrong:
        raise ValidationError(WRONG_CODE) from wrong
    guesses.give_back(tries)
    return accepted


def _judged_passkey(user: User, text: str) -> Authenticator:
    try:
        return second_factors.accept_passkey(context.request, user, text)
    except BadAnswer as bad:
        raise ValidationError(WRONG_PASSKEY) from bad


def _waiting_key() -> str:
    try:
        return SecondFactorAdapter().decrypt(context.request.session[totp.SECRET_SESSION_KEY])
    except (KeyError, SealBroken):
        return ""


def _new_key() -> str:
    key = totp.generate_totp_secret()
    # Sessions are stored in a table, so the data in them is sealed too.
    context.request.session[totp.SECRET_SESSION_KEY] = SecondFactorAdapter().encrypt(key)
    return key

"""The pages of a user's second factors: the app, recovery codes and passkeys."""

from collections.abc import Callable
from functools import wraps
from typing import Any, Final, TypeAlias

from allauth.account.internal.flows.reauthentication import is_reauthentication_required
from allauth.mfa.models import Authenticator
from allauth.mfa.recovery_codes.views import GenerateRecoveryCodesView, ViewRecoveryCodesView
from allauth.mfa.totp.views import ActivateTOTPView, DeactivateTOTPView
from allauth.mfa.webauthn.internal import auth as webauthn
from allauth.mfa.webauthn.views import AddWebAuthnView, EditWebAuthnView, RemoveWebAuthnView
from django.conf import settings
from django.contrib.auth.views import redirect_to_login
from django.core.exceptions import PermissionDenied
from django.db import IntegrityError
from django.http import HttpRequest, HttpResponse, HttpResponseBase
from django.shortcuts import redirect, render
from django.urls import reverse_lazy
from django.views.decorators.http import require_GET, require_safe

from console.account import second_factor_forms, second_factors, sessions, sign_in_pages
from console.account.sessions import SessionOver
from foundation.sealing import SealBroken
from workspace.models import User

View: TypeAlias = Callable[..., HttpResponseBase]
Kind = Authenticator.Type

FEW_CODES: Final = 3
INDEX: Final = reverse_lazy("mfa_index")


def for_its_person(view: View) -> View:
    """A view for signed-in users; its response is not cached."""

    @wraps(view)
    def wrapper(request: HttpRequest, *args: Any, **kwargs: Any) -> HttpResponseBase:
        if not isinstance(request.user, User):
            return redirect_to_login(request.get_full_path())
        response = view(request, *args, **kwargs)
        response["Cache-Control"] = "no-store"
        return response

    return wrapper


def freshly_confirmed(view: View) -> View:
    """A view that changes factors; requires a confirmation within the last five minutes."""

    @wraps(view)
    def wrapper(request: HttpRequest, *args: Any, **kwargs: Any) -> HttpResponseBase:
        if not has_confirmed(request):
            return sign_in_pages.to_confirmation(request)
        return view(request, *args, **kwargs)

    return for_its_person(wrapper)


def where_passkeys_work(view: View) -> View:
    """Redirects to the overview, which gives the reason, if browsers support no passkeys here."""

    @wraps(view)
    def wrapper(request: HttpRequest, *args: Any, **kwargs: Any) -> HttpResponseBase:
        if not sign_in_pages.passkeys_work():
            return redirect(INDEX)
        return view(request, *args, **kwargs)

    return wrapper


@require_safe
@for_its_person
def index(request: HttpRequest) -> HttpResponse:
    """Lists the user's sign-in methods, without secrets."""
    codes = second_factors.list_by_kind(_person(request), Kind.RECOVERY_CODES).first()
    context = {
        "app": second_factors.list_by_kind(_person(request), Kind.TOTP).first(),
        "passkeys": second_factors.list_by_kind(_person(request), Kind.WEBAUTHN),
        "codes": codes,
        "codes_left": second_factors.codes_left(codes) if codes else 0,
        "few_codes": FEW_CODES,
        "passkeys_work": sign_in_pages.passkeys_work(),
        "public_url": settings.HALO_PUBLIC_URL,
    }
    return render(request, "console/security.html", context)


class AddApp(ActivateTOTPView):
    form_class = second_factor_forms.AddAppForm  # type: ignore[assignment]  # it has all that is asked

    def form_valid(self, form: second_factor_forms.AddAppForm) -> HttpResponse:
        user = _person(self.request)
        try:
            with sessions.adding_factor(self.request, user, Kind.TOTP):
                response: HttpResponse = super().form_valid(form)
                second_factors.note_step(user, form.step)
        except (IntegrityError, SessionOver):
            # Submitted twice: the other request has created them.
            return redirect(INDEX)
        second_factors.record_change(self.request, "factor_added", user, detail="app")
        return response


class RemoveApp(DeactivateTOTPView):
    def form_valid(self, form: Any) -> HttpResponse:
        response: HttpResponse = super().form_valid(form)
        user = _person(self.request)
        second_factors.record_change(self.request, "factor_removed", user, detail="app")
        return response


class Codes(ViewRecoveryCodesView):
    def get(self, request: HttpRequest, *args: Any, **kwargs: Any) -> HttpResponse:
        try:
            response: HttpResponse = super().get(request, *args, **kwargs)
        except SealBroken:
            # They can no longer be read; the user can only create new ones.
            return redirect("mfa_generate_recovery_codes")
        return response


class NewCodes(GenerateRecoveryCodesView):
    def get_context_data(self, **kwargs: Any) -> dict[str, Any]:
        # Not by decrypting, as allauth counts them: the key may be lost.
        codes = second_factors.list_by_kind(_person(self.request), Kind.RECOVERY_CODES).first()
        left = second_factors.codes_left(codes) if codes else 0
        return super(GenerateRecoveryCodesView, self).get_context_data(**kwargs) | {
            "unused_code_count": left
        }

    def form_valid(self, form: Any) -> HttpResponse:
        response: HttpResponse = super().form_valid(form)
        user = _person(self.request)
        second_factors.record_change(self.request, "recovery_codes_made", user, detail="")
        return response


class AddPasskey(AddWebAuthnView):
    form_class = second_factor_forms.AddPasskeyForm

    def get_context_data(self, **kwargs: Any) -> dict[str, Any]:
        # Stored by the device and used with its screen lock: usable for sign-in without a password.
        options = webauthn.begin_registration(_person(self.request), passwordless=True)
        context = super(AddWebAuthnView, self).get_context_data(**kwargs)
        return context | {"js_data": {"creation_options": options}}

    def form_valid(self, form: second_factor_forms.AddPasskeyForm) -> HttpResponse:
        user = _person(self.request)
        try:
            with sessions.adding_factor(self.request, user, Kind.WEBAUTHN):
                response: HttpResponse = super().form_valid(form)
        except (IntegrityError, SessionOver):
            # Two factors were added at once, and both would have been the first.
            return redirect(INDEX)
        second_factors.record_change(self.request, "factor_added", user, detail="passkey")
        return response


class RenamePasskey(EditWebAuthnView):
    form_class = second_factor_forms.RenamePasskeyForm
    success_url = INDEX


class RemovePasskey(RemoveWebAuthnView):
    success_url = INDEX

    def form_valid(self, form: Any) -> HttpResponse:
        response: HttpResponse = super().form_valid(form)
        user = _person(self.request)
        second_factors.record_change(self.request, "factor_removed", user, detail="passkey")
        return response


def has_confirmed(request: HttpRequest) -> bool:
    """Whether the user confirmed in the last five minutes, in a way that counts for them."""
    if is_reauthentication_required(request, app="allauth.mfa"):
        return False
    # The password may have been entered before there was a factor.
    return sessions.takes_the_password(request, _person(request))


def _person(request: HttpRequest) -> User:
    if not isinstance(request.user, User):
        raise PermissionDenied
    return request.user


add_app = freshly_confirmed(AddApp.as_view())
remove_app = freshly_confirmed(RemoveApp.as_view())
# HEAD would mark the codes as seen without showing them.
codes = require_GET(freshly_confirmed(Codes.as_view()))
new_codes = freshly_confirmed(NewCodes.as_view())
add_passkey = where_passkeys_work(freshly_confirmed(AddPasskey.as_view()))
rename_passkey = freshly_confirmed(RenamePasskey.as_view())
remove_passkey = freshly_confirmed(RemovePasskey.as_view())

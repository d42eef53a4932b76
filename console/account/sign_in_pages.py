"""Sign-in: the password, the second step, passkeys, and reauthentication."""

from typing import Any
from urllib.parse import urlencode

from allauth.account.adapter import get_adapter
from allauth.account.internal.stagekit import clear_login, stash_login
from allauth.account.stages import LoginStage, LoginStageController
from allauth.account.utils import get_next_redirect_url
from allauth.account.views import LoginView
from allauth.mfa.base.views import AuthenticateView, ReauthenticateView
from allauth.mfa.models import Authenticator
from allauth.mfa.stages import AuthenticateStage
from allauth.mfa.webauthn.views import LoginWebAuthnView, ReauthenticateWebAuthnView
from django.conf import settings
from django.contrib import messages
from django.contrib.auth import REDIRECT_FIELD_NAME
from django.core.exceptions import PermissionDenied
from django.http import HttpRequest, HttpResponse, HttpResponseBase, HttpResponseRedirect
from django.shortcuts import redirect
from django.urls import reverse
from django.utils.crypto import constant_time_compare
from django.utils.translation import gettext as _

from console import kept_forms
from console.account import second_factor_forms, second_factors
from workspace.models import User

Kind = Authenticator.Type
CHALLENGE_SECONDS = 600


def passkeys_work() -> bool:
    """Returns whether browsers support passkeys for the address of this server."""
    return bool(settings.HALO_PASSKEY_DOMAIN)


def to_sign_in(path: str | None) -> str:
    """Redirects to the sign-in page, and from there to a path of this site."""
    query = f"?{urlencode({REDIRECT_FIELD_NAME: path})}" if path else ""
    return reverse("account_login") + query


class SecondStep(AuthenticateStage):
    """The step between the right password and a session, for users with a second factor."""

    def handle(self) -> tuple[HttpResponse | None, bool]:
        # The old password must not be enough if another one was set in the meantime.
        if isinstance(self.login.user, User):
            self.state["password"] = self.login.user.get_session_auth_hash()
        response, goes_on = super().handle()
        return response, goes_on

    @property
    def still_holds(self) -> bool:
        """Returns whether user, password and factors are unchanged since the password check."""
        user, password = self.login.user, self.state.get("password", "")
        if not isinstance(user, User) or not constant_time_compare(
            password, user.get_session_auth_hash()
        ):
            return False
        return second_factors.has_factor(user)


class SignInPage(LoginView):
    def get_context_data(self, **kwargs: Any) -> dict[str, Any]:
        more = {
            "passkeys_work": passkeys_work(),
            "has_kept_form": kept_forms.has_kept(self.request),
        }
        return super().get_context_data(**kwargs) | more

    def _redirect_to_pending_stage(
        self, request: HttpRequest, stage: LoginStage
    ) -> HttpResponseRedirect | None:
        """Redirects users between password and second step to the second step.

        A user who submits the password form again starts over: it may be another user, or another
        account.
        """
        if request.method == "POST" or not (isinstance(stage, SecondStep) and stage.still_holds):
            clear_login(request)
            return None
        if path := get_next_redirect_url(request):
            stage.login.redirect_url = path
            stash_login(request, stage.login)
        return super()._redirect_to_pending_stage(request, stage)


class SecondStepPage(AuthenticateView):
    form_class = second_factor_forms.SecondStepForm
    webauthn_form_class = second_factor_forms.PasskeySecondStepForm

    def dispatch(self, request: HttpRequest, *args: Any, **kwargs: Any) -> HttpResponseBase:
        if request.user.is_anonymous and not _is_half_way(request):
            clear_login(request)
            messages.info(request, _("Your sign-in expired. Sign in again."))
            return redirect(to_sign_in(get_next_redirect_url(request)))
        response: HttpResponseBase = super().dispatch(request, *args, **kwargs)
        return response

    def get_context_data(self, **kwargs: Any) -> dict[str, Any]:
        login = self.stage.login
        return super().get_context_data(**kwargs) | {
            "account": login.user,
            "has_app": second_factors.list_by_kind(login.user, Kind.TOTP).exists(),
            "has_passkey": passkeys_work()
            and second_factors.list_by_kind(login.user, Kind.WEBAUTHN).exists(),
            "start_over": to_sign_in(login.redirect_url),
            "redirect_field_name": REDIRECT_FIELD_NAME,
            "redirect_field_value": login.redirect_url,
        }


class PasskeySignInPage(LoginWebAuthnView):
    """GET with a JSON Accept header returns the challenge, POST signs in with the response."""

    form_class = second_factor_forms.PasskeySignInForm

    def _redirect_to_pending_stage(self, request: HttpRequest, stage: LoginStage) -> None:  # noqa: ARG002  allauth's signature
        # A passkey replaces the whole sign-in, including a started one.
        if request.method == "POST":
            clear_login(request)

    def get(self, request: HttpRequest, *args: Any, **kwargs: Any) -> HttpResponse:
        is_new = not request.session.session_key
        response: HttpResponse = super().get(request, *args, **kwargs)
        if is_new and request.session.modified:
            # Anonymous requests can create many of these rows; none is kept after its use.
            request.session.set_expiry(CHALLENGE_SECONDS)
        return response

    def form_invalid(self, form: second_factor_forms.PasskeySignInForm) -> HttpResponse:
        for text in form.errors.get("credential", []):
            messages.error(self.request, str(text))
        return redirect(to_sign_in(get_next_redirect_url(self.request)))


class ConfirmCodePage(ReauthenticateView):
    form_class = second_factor_forms.ConfirmCodeForm


class ConfirmPasskeyPage(ReauthenticateWebAuthnView):
    form_class = second_factor_forms.PasskeyConfirmForm

    def form_invalid(self, form: second_factor_forms.PasskeyConfirmForm) -> HttpResponse:
        # allauth's method redirects without a message and builds another form in between.
        context = self.get_context_data() | {"form": form}
        return self.render_to_response(context)


def to_confirmation(request: HttpRequest) -> HttpResponse:
    """Requests reauthentication, then returns to this page, by GET.

    The POST data is not kept: it would be stored in the session's row, and executed later without
    another look. Raises PermissionDenied for users without any method.
    """
    ways = get_adapter().get_reauthentication_methods(request.user)
    if not ways:
        raise PermissionDenied
    return redirect(f"{ways[0]['url']}?{urlencode({REDIRECT_FIELD_NAME: request.path})}")


def _is_half_way(request: HttpRequest) -> bool:
    stage = LoginStageController.enter(request, SecondStep.key)
    return isinstance(stage, SecondStep) and stage.still_holds


sign_in = SignInPage.as_view()
second_step = SecondStepPage.as_view()
passkey = PasskeySignInPage.as_view()
confirm_by_code = ConfirmCodePage.as_view()
confirm_by_passkey = ConfirmPasskeyPage.as_view()

"""allauth's adapter: sign-up, limits on password attempts, and redirects after sign-in."""

from typing import Any

from allauth.account.adapter import DefaultAccountAdapter
from allauth.core import context
from allauth.core.exceptions import ImmediateHttpResponse
from django.conf import settings
from django.http import HttpRequest, HttpResponse
from django.utils.translation import gettext_lazy as _

from console import kept_forms
from console.account import guesses, known_browsers, sessions
from foundation.links import SITE_PATH
from oauth.endpoints import replies


class AccountAdapter(DefaultAccountAdapter):
    """Administrators create accounts, and sign-in redirects only to this site."""

    # The same sentence for an unknown address and a wrong password, so that it reveals neither.
    error_messages = DefaultAccountAdapter.error_messages | {
        "email_password_mismatch": _("Incorrect email or password."),
        "incorrect_password": _("Incorrect password."),
    }

    def is_open_for_signup(self, request: HttpRequest) -> bool:  # noqa: ARG002  allauth's signature
        return False

    def get_client_ip(self, request: HttpRequest) -> str:
        """Returns the client's address behind trusted proxies, under which attempts are counted."""
        return replies.address_of(request)

    def is_safe_url(self, url: str) -> bool:
        """Accepts a path of this site only: no scheme and no host, not even its own.

        An open redirect after sign-in can leak codes and send users to another site (RFC 9700
        4.11).
        """
        return SITE_PATH.fullmatch(url) is not None

    def authenticate(self, request: HttpRequest, **credentials: Any) -> Any:
        """Checks a password within the limits on attempts. Raises GuessRefused beyond them."""
        tries = guesses.charge_password(request, credentials["email"])
        user = super().authenticate(request, **credentials)
        if user is not None:
            guesses.give_back(tries)
        return user

    def get_login_stages(self) -> list[str]:
        return ["console.account.sign_in_pages.SecondStep"]

    def get_reauthentication_methods(self, user: Any) -> list[dict[str, Any]]:
        """Returns the methods of reauthentication; the first one is offered."""
        ways = super().get_reauthentication_methods(user)
        if ways and not sessions.takes_the_password(context.request, user):
            ways = [way for way in ways if way["id"] != "reauthenticate"]
        passkeys_work = bool(settings.HALO_PASSKEY_DOMAIN)
        return [way for way in ways if passkeys_work or not way["id"].endswith(":webauthn")]

    def login(self, request: HttpRequest, user: Any) -> None:
        """Opens the session; every method of sign-in calls this."""
        if not user.is_active or user.is_program:
            # The account was disabled between the password and the second step.
            raise ImmediateHttpResponse(self.respond_user_inactive(request, user))
        super().login(request, user)
        kept_forms.forget_others(request, user)
        # A session that only waited for a passkey has a short lifetime.
        request.session.set_expiry(None)

    def post_login(self, request: HttpRequest, user: Any, **hooks: Any) -> HttpResponse:
        response = super().post_login(request, user, **hooks)
        known_browsers.remember(request, response, user.email)
        return response

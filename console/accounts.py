"""Who may sign up, how often a password may be tried, and where signing in leads."""

import re
from typing import Any, Final

from allauth.account.adapter import DefaultAccountAdapter
from allauth.core import context
from allauth.core.exceptions import ImmediateHttpResponse
from django.conf import settings
from django.http import HttpRequest, HttpResponse
from django.utils.translation import gettext_lazy as _

from console import guesses, known_browsers, sessions
from oauth import replies

# Browsers drop tabs and line breaks from an address and take a backslash for a slash, so
# "/<tab>/host" and "/\host" name another site (WHATWG URL 4.4).
PATH: Final = re.compile(r"/(?![/\\])[^\x00-\x1f\x7f]*")


class AccountAdapter(DefaultAccountAdapter):
    """Accounts are made by administrators, and nobody is sent off this site by signing in."""

    # One sentence for an unknown address and a wrong password: which it was is nobody's business.
    error_messages = DefaultAccountAdapter.error_messages | {
        "email_password_mismatch": _("This address and this password do not belong together."),
        "incorrect_password": _("That is not the password of this account."),
    }

    def is_open_for_signup(self, request: HttpRequest) -> bool:  # noqa: ARG002  allauth's signature
        return False

    def get_client_ip(self, request: HttpRequest) -> str:
        """The address that guesses are counted under: behind a proxy not the proxy's own."""
        return replies.address_of(request)

    def is_safe_url(self, url: str) -> bool:
        """Accept a path of this site and nothing else: no scheme, no host, not even our own.

        An open redirect behind a sign-in page is how codes and people are led astray
        (RFC 9700 4.11).
        """
        return PATH.fullmatch(url) is not None

    def authenticate(self, request: HttpRequest, **credentials: Any) -> Any:
        """Judge a password within the limits on guessing. Raises GuessRefused beyond them."""
        tries = guesses.charge_password(request, credentials["email"])
        user = super().authenticate(request, **credentials)
        if user is not None:
            guesses.give_back(tries)
        return user

    def get_login_stages(self) -> list[str]:
        return ["console.sign_in_pages.SecondStep"]

    def get_reauthentication_methods(self, user: Any) -> list[dict[str, Any]]:
        """The ways to confirm that it is you, first the one that is offered."""
        ways = super().get_reauthentication_methods(user)
        if ways and not sessions.takes_the_password(context.request, user):
            ways = [way for way in ways if way["id"] != "reauthenticate"]
        passkeys_work = bool(settings.HALO_PASSKEY_DOMAIN)
        return [way for way in ways if passkeys_work or not way["id"].endswith(":webauthn")]

    def login(self, request: HttpRequest, user: Any) -> None:
        """Open the session, the one place that does, whichever way the person came."""
        if not user.is_active:
            # Switched off between the password and the second step.
            raise ImmediateHttpResponse(self.respond_user_inactive(request, user))
        super().login(request, user)
        # A session that only waited for a passkey had a short life.
        request.session.set_expiry(None)

    def post_login(self, request: HttpRequest, user: Any, **hooks: Any) -> HttpResponse:
        response = super().post_login(request, user, **hooks)
        known_browsers.remember(request, response, user.email)
        return response

"""Changing one's own password, on the account page and in the admin."""

from typing import Any

from allauth.core import context
from django.contrib import admin, messages
from django.contrib.admin.forms import AdminPasswordChangeForm
from django.contrib.auth.views import PasswordChangeView
from django.http import HttpRequest, HttpResponse, HttpResponseBase
from django.urls import reverse_lazy
from django.utils.translation import gettext as _
from django.views.decorators.debug import sensitive_variables

from console.account import guesses, second_factors, security_page, sign_in_pages
from console.account.security_page import INDEX, for_its_person, freshly_confirmed
from workspace.models import User


class OwnPasswordForm(AdminPasswordChangeForm):
    """Django's form; the current password is checked within the limits on attempts."""

    user: User
    error_messages = AdminPasswordChangeForm.error_messages | {
        "password_incorrect": _("Incorrect password."),
    }

    @sensitive_variables("old")
    def clean_old_password(self) -> str:
        tries = guesses.charge_password(context.request, self.user.email)
        old = super().clean_old_password()
        guesses.give_back(tries)
        return str(old)


class OwnPasswordPage(PasswordChangeView):
    """Sets the password, signs out every other session and records the change."""

    form_class = OwnPasswordForm
    template_name = "account/password.html"
    success_url = INDEX

    def form_valid(self, form: Any) -> HttpResponse:
        response = super().form_valid(form)
        by = f"by {form.user}"
        second_factors.record_change(self.request, "password_set", form.user, detail=by)
        return response


class AccountPasswordPage(OwnPasswordPage):
    def form_valid(self, form: Any) -> HttpResponse:
        response = super().form_valid(form)
        messages.success(self.request, _("Password changed. All other sessions are signed out."))
        return response


class AdminPasswordPage(OwnPasswordPage):
    template_name = "registration/password_change_form.html"
    success_url = reverse_lazy("admin:password_change_done")

    def get_context_data(self, **kwargs: Any) -> dict[str, Any]:
        return super().get_context_data(**kwargs) | admin.site.each_context(self.request)


@for_its_person
def change(request: HttpRequest) -> HttpResponseBase:
    """The account's page. Users with a second factor confirm with it first."""
    has_factor = isinstance(request.user, User) and second_factors.has_factor(request.user)
    if has_factor and not security_page.has_confirmed(request):
        return sign_in_pages.to_confirmation(request)
    return AccountPasswordPage.as_view()(request)


@freshly_confirmed
def change_own(request: HttpRequest, extra_context: Any = None) -> HttpResponseBase:
    """The admin's page, which replaces Django's."""
    return AdminPasswordPage.as_view(extra_context=extra_context)(request)

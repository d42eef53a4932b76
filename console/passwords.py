"""The admin's page for one's own password, within the limits of every page that takes one."""

from typing import Any

from allauth.core import context
from django.contrib import admin
from django.contrib.admin.forms import AdminPasswordChangeForm
from django.contrib.auth.views import PasswordChangeView
from django.http import HttpRequest, HttpResponse, HttpResponseBase
from django.urls import reverse_lazy
from django.views.decorators.debug import sensitive_variables

from console import guesses, second_factors
from console.security_page import freshly_confirmed
from workspace.models import User


class OwnPasswordForm(AdminPasswordChangeForm):
    user: User

    @sensitive_variables("old")
    def clean_old_password(self) -> str:
        tries = guesses.charge_password(context.request, self.user.email)
        old = super().clean_old_password()
        guesses.give_back(tries)
        return str(old)


class OwnPasswordPage(PasswordChangeView):
    form_class = OwnPasswordForm
    success_url = reverse_lazy("admin:password_change_done")

    def get_context_data(self, **kwargs: Any) -> dict[str, Any]:
        return super().get_context_data(**kwargs) | admin.site.each_context(self.request)

    def form_valid(self, form: Any) -> HttpResponse:
        response = super().form_valid(form)
        by = f"by {form.user}"
        second_factors.changed(self.request, "password_set", form.user, detail=by)
        return response


@freshly_confirmed
def change_own(request: HttpRequest, extra_context: Any = None) -> HttpResponseBase:
    """Set another password for oneself, in place of the page that Django brings."""
    return OwnPasswordPage.as_view(extra_context=extra_context)(request)

"""The admin form of a client that an admin registers, with the rules of dynamic registration."""

from typing import Any

from django import forms
from django.conf import settings
from django.utils.translation import gettext_lazy as _

from oauth.clients.client_metadata import ClientMetadata
from oauth.errors import InvalidClientMetadata, InvalidRedirectUri
from oauth.models import AuthMethod, Client


class RedirectUrisField(forms.CharField):
    """A list of URIs, one on each line."""

    widget = forms.Textarea

    def prepare_value(self, value: Any) -> Any:
        return "\n".join(value) if isinstance(value, list) else value

    def to_python(self, value: Any) -> Any:
        lines = str(super().to_python(value) or "").splitlines()
        return [line.strip() for line in lines if line.strip()]

    def has_changed(self, initial: Any, data: Any) -> bool:
        return bool(self.to_python(data) != (initial or []))


class ClientForm(forms.ModelForm):  # type: ignore[type-arg]
    """Parses what is entered into `metadata`; `auth_method` cannot change after registration."""

    metadata: ClientMetadata

    name = forms.CharField(label=_("Name"), help_text=_("Shown on the consent page."))
    redirect_uris = RedirectUrisField(
        label=_("Redirect URIs"),
        help_text=_("One on each line, at most 10. They are matched exactly, without wildcards."),
    )
    is_native = forms.BooleanField(
        required=False,
        label=_("Runs on the user's device"),
        help_text=_(
            "Select this for desktop, mobile and command-line applications. Such clients may use "
            "a reverse domain name as the scheme of a redirect URI."
        ),
    )
    auth_method = forms.ChoiceField(
        label=_("Type"),
        choices=(
            (AuthMethod.NONE, _("Public: no secret")),
            (AuthMethod.BASIC, _("Confidential: secret in the Authorization header")),
            (AuthMethod.POST, _("Confidential: secret in the request body")),
        ),
        help_text=_(
            "Choose a confidential type only if the client runs on a server that can keep a "
            "secret. The type cannot be changed later."
        ),
    )

    class Meta:
        model = Client
        fields = ("name", "redirect_uris", "is_native", "auth_method")

    def clean(self) -> dict[str, Any]:
        cleaned: dict[str, Any] = super().clean() or self.cleaned_data
        if self.errors:
            return cleaned
        stated = {
            "client_name": cleaned["name"],
            "redirect_uris": cleaned["redirect_uris"],
            "application_type": "native" if cleaned["is_native"] else "web",
            "token_endpoint_auth_method": cleaned.get("auth_method", self.instance.auth_method),
        }
        try:
            self.metadata = ClientMetadata.parse(stated, app_schemes=settings.HALO_APP_SCHEMES)
        except InvalidRedirectUri as refused:
            self.add_error("redirect_uris", refused.hint)
        except InvalidClientMetadata as refused:
            self.add_error("name", refused.hint)
        return cleaned

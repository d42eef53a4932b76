"""What an admin fills in to connect an integration: a form made from what its author declares."""

import re
from collections.abc import Mapping
from typing import Any, Final

from django import forms
from django.core.exceptions import ValidationError
from django.utils.translation import gettext_lazy as _

from foundation.stale_forms import ComparedForm
from tools_registry.api import Setting, VendorConnection

MAX_CREDENTIAL_LENGTH: Final = 4096
MAX_SETTING_LENGTH: Final = 200
# A credential goes into a header, where nothing else could be sent (RFC 9110 section 5.5).
VISIBLE: Final = re.compile(r"[!-~]+", re.ASCII)
PREFIX: Final = "setting-"
OTHER_ACCOUNT: Final = "other-account"


class ConnectForm(ComparedForm):
    """The credential, which is only ever written, and the declared settings."""

    def __init__(
        self,
        connection: VendorConnection,
        *,
        kept: Mapping[str, str],
        credential_is_kept: bool,
        had_account: bool,
        data: Any = None,
    ) -> None:
        super().__init__(data, label_suffix="")
        self._declared = {PREFIX + setting.name: setting for setting in connection.settings}
        self._wrong_credentials = connection.wrong_credentials
        self.fields["credential"] = _credential(connection, is_kept=credential_is_kept)
        for name, setting in self._declared.items():
            self.fields[name] = _field(setting, kept.get(setting.name, ""))
        if had_account:
            self.fields[OTHER_ACCOUNT] = _confirmation()

    @property
    def secret(self) -> str:
        """The credential that was filled in; empty where the kept one stays."""
        return str(self.cleaned_data["credential"])

    @property
    def allows_other_account(self) -> bool:
        return bool(self.cleaned_data.get(OTHER_ACCOUNT))

    @property
    def settings(self) -> dict[str, str]:
        """The settings by name, without those that were left empty."""
        filled = {one.name: self.cleaned_data[name] for name, one in self._declared.items()}
        return {name: value for name, value in filled.items() if value}

    def clean_credential(self) -> str:
        given = str(self.cleaned_data["credential"])
        if given and not VISIBLE.fullmatch(given):
            raise ValidationError(_("Enter only the credential, without spaces or line breaks."))
        for prefix, kind in self._wrong_credentials.items():
            if given.startswith(prefix):
                raise ValidationError(_("This is %(kind)s.") % {"kind": kind})
        return given

    def clean(self) -> dict[str, Any]:
        super().clean()
        for name, setting in self._declared.items():
            value = self.cleaned_data.get(name, "")
            if value and setting.pattern and not re.fullmatch(setting.pattern, value):
                self.add_error(name, _("This value does not have the expected format."))
        return self.cleaned_data


def _credential(connection: VendorConnection, *, is_kept: bool) -> forms.CharField:
    kept = _("A credential is saved. Leave this empty to keep it.") if is_kept else ""
    compared = connection.help_date
    dated = _("As of %(day)s.") % {"day": compared.isoformat()} if compared else ""
    helps = [text for text in (connection.credential_help, dated, kept) if text]
    return forms.CharField(
        label=connection.credential,
        help_text=" ".join(map(str, helps)),
        required=not is_kept,
        max_length=MAX_CREDENTIAL_LENGTH,
        # Never rendered again, nor offered to the browser's password store.
        widget=forms.PasswordInput(attrs={"autocomplete": "new-password", "class": "vTextField"}),
    )


def _confirmation() -> forms.BooleanField:
    return forms.BooleanField(
        label=_("Connect another account"),
        help_text=_(
            "Needed only for a credential of another account. Ids of customers from the account "
            "before are kept, but not used while the other one is connected."
        ),
        required=False,
    )


def _field(setting: Setting, kept: str) -> forms.CharField:
    return forms.CharField(
        label=setting.title,
        help_text=setting.help,
        required=setting.required,
        max_length=MAX_SETTING_LENGTH,
        initial=kept,
        widget=forms.TextInput(attrs={"autocomplete": "off", "class": "vTextField"}),
    )

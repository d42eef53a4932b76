"""Remove scopes that name nothing: earlier versions granted any name that the grammar accepts.

The list is that of this version and stays fixed. `bootstrap` applies the list of the running version
afterwards (`oauth/consent/obsolete_scopes.py`), but an upgrade may skip versions and bring an integration
whose name an old token carries.
"""

from django.db import migrations
from django.utils import timezone

KNOWN = {
    "hubspot": {"create_deal", "create_note", "log_activity", "update_contact"},
    "linear": {"create_bug", "create_feature_request"},
    "slack": {"post_message"},
    "stripe": {"extend_trial", "request_cancellation", "request_credit", "request_refund"},
}
MODELS = ("Authorization", "AccessToken", "RefreshToken", "AuthorizationRequest")


def remove(apps, _schema_editor):
    for name in MODELS:
        rows = apps.get_model("oauth", name).objects.order_by()
        named = rows.filter(scope__contains="actions:").exclude(scope="actions:*")
        for text in list(named.values_list("scope", flat=True).distinct()):
            kept = " ".join(filter(names_something, text.split(" ")))
            if kept != text:
                reduce(rows.filter(scope=text), kept)


def reduce(rows, kept):
    if kept or rows.model.__name__ != "Authorization":
        rows.update(scope=kept)
    else:
        living = rows.filter(revoked_at__isnull=True)
        living.update(revoked_at=timezone.now(), revoke_reason="scopes_removed")


def names_something(scope):
    family, *names = scope.split(":")
    if family != "actions" or names == ["*"]:
        return True
    integration, action = names
    return integration in KNOWN and action in {"*", *KNOWN[integration]}


class Migration(migrations.Migration):

    dependencies = [
        ("oauth", "0004_drop_single_token_revocation"),
    ]

    operations = [
        migrations.RunPython(remove, migrations.RunPython.noop, elidable=True),
    ]

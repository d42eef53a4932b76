"""Ends requests of projects that wait and cannot be approved: made by a version without rules.

They have neither the rule that demanded them nor a digest of the HTTP request that is sent.
"""

from typing import Any

from django.db import migrations
from django.utils import timezone

REASON = (
    "Requested with an earlier version of this server. The call has to be requested again."
)


def end_requests(apps: Any, schema_editor: Any) -> None:
    rows = apps.get_model("approvals", "ApprovalRequest").objects.using(
        schema_editor.connection.alias
    )
    waiting = rows.filter(surface__startswith="gateway:", status="pending", rule__isnull=True)
    waiting.update(status="declined", note=REASON, problem="", ended_at=timezone.now())


class Migration(migrations.Migration):
    dependencies = [("approvals", "0004_announced_requests")]
    operations = [migrations.RunPython(end_requests, migrations.RunPython.noop)]

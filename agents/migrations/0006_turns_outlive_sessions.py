"""Turns say whose they were, so that they can stay when their session is deleted."""

from typing import Any

import django.db.models.deletion
from django.db import migrations, models
from django.db.models import OuterRef, Subquery


def fill(apps: Any, _editor: Any) -> None:
    turns, sessions = (apps.get_model("agents", name) for name in ("SessionTurn", "Session"))
    of_turn = sessions.objects.filter(pk=OuterRef("session"))
    turns.objects.update(
        organization_id=Subquery(of_turn.values("organization")),
        key_id=Subquery(of_turn.values("key_id")),
        agent=Subquery(of_turn.values("agent")),
    )


class Migration(migrations.Migration):
    dependencies = (
        ("agents", "0005_waiting_calls"),
        ("workspace", "0014_sandboxes"),
    )

    operations = (
        migrations.AddField(
            "sessionturn",
            "organization",
            models.ForeignKey(
                null=True,
                on_delete=django.db.models.deletion.CASCADE,
                related_name="+",
                to="workspace.organization",
                verbose_name="organization",
            ),
        ),
        migrations.AddField(
            "sessionturn", "key_id", models.UUIDField(null=True, verbose_name="API key")
        ),
        migrations.AddField(
            "sessionturn",
            "agent",
            models.CharField(default="", max_length=100, verbose_name="agent"),
            preserve_default=False,
        ),
        migrations.RunPython(fill, migrations.RunPython.noop, elidable=True),
    )

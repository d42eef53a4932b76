"""Tickets have the words of their subject, which are filled in batches while serving."""

from typing import ClassVar

from django.db import migrations

import foundation.text.columns
from workspace.migrations import _words


class Migration(migrations.Migration):
    dependencies: ClassVar = [("workspace", "0013_join_indexes")]

    operations: ClassVar = [
        migrations.RunPython(_words.limit_waits, migrations.RunPython.noop),
        migrations.AddField(
            model_name="ticket",
            name="search_text",
            field=foundation.text.columns.SearchTextField(
                editable=False, null=True, sources=("subject",)
            ),
        ),
        migrations.RunPython(_words.create_ticket_trigger, _words.drop_ticket_trigger),
    ]

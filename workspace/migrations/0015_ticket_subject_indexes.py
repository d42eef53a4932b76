"""The indexes of tickets without messages, and of those whose words have yet to be filled."""

from typing import ClassVar

from django.db import migrations, models

from foundation.db.add_index import AddIndexOnline


class Migration(migrations.Migration):
    # PostgreSQL adds no index within a transaction while rows are written.
    atomic = False

    dependencies: ClassVar = [("workspace", "0014_ticket_subjects")]

    operations: ClassVar = [
        AddIndexOnline(
            model_name="ticket",
            index=models.Index(
                condition=models.Q(("message_count", 0)),
                fields=["organization"],
                name="workspace_tkt_no_message",
            ),
        ),
        AddIndexOnline(
            model_name="ticket",
            index=models.Index(
                condition=models.Q(("search_text", None)),
                fields=["id"],
                name="workspace_tkt_subject_unfilled",
            ),
        ),
    ]

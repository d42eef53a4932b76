"""Indexes of events and tickets that may become those of a customer."""

from django.db import migrations, models

from foundation.db.add_index import AddIndexOnline


class Migration(migrations.Migration):

    # PostgreSQL adds no index within a transaction while rows are written.
    atomic = False

    dependencies = [
        ('workspace', "0012_joins"),
    ]

    operations = [
        AddIndexOnline(
            model_name='event',
            index=models.Index(condition=models.Q(('customer', None), models.Q(('session_id', ''), _negated=True)), fields=['organization', 'session_id', '-at'], name='workspace_event_visitor'),
        ),
        AddIndexOnline(
            model_name='ticket',
            index=models.Index(condition=models.Q(('customer', None), models.Q(('email_key', ''), _negated=True)), fields=['organization', 'email_key'], name='workspace_tkt_email'),
        ),
        AddIndexOnline(
            model_name='ticket',
            index=models.Index(condition=models.Q(('email_key', None)), fields=['id'], name='workspace_tkt_unkeyed'),
        ),
    ]

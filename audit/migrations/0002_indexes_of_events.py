from django.db import migrations, models

from foundation.db.add_index import AddIndexOnline


class Migration(migrations.Migration):

    # PostgreSQL adds no index within a transaction while rows are written.
    atomic = False

    dependencies = [
        ('audit', '0001_squashed'),
    ]

    operations = [
        AddIndexOnline(
            model_name='securityevent',
            index=models.Index(fields=['kind', '-last_at', '-id'], name='audit_event_by_kind'),
        ),
        AddIndexOnline(
            model_name='securityevent',
            index=models.Index(fields=['organization_id', '-last_at', '-id'], name='audit_event_by_organization'),
        ),
        AddIndexOnline(
            model_name='securityevent',
            index=models.Index(fields=['subject', '-last_at', '-id'], name='audit_event_by_subject'),
        ),
    ]

from django.db import migrations, models

from foundation.db.add_index import AddIndexOnline


class Migration(migrations.Migration):

    # PostgreSQL adds no index within a transaction while rows are written.
    atomic = False

    dependencies = [
        ('people', '0009_employment_ahead_policies_and_recounts'),
    ]

    operations = [
        AddIndexOnline(
            model_name='employmentrecord',
            index=models.Index(condition=models.Q(('is_ahead', True)), fields=['effective_from'], name='people_employment_ahead'),
        ),
    ]

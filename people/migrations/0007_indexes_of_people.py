from django.db import migrations, models

from foundation.db.add_index import AddIndexOnline


class Migration(migrations.Migration):

    # PostgreSQL adds no index within a transaction while rows are written.
    atomic = False

    dependencies = [
        ('people', '0006_search_words'),
    ]

    operations = [
        AddIndexOnline(
            model_name='person',
            index=models.Index(fields=['organization', 'last_name', 'id'], name='people_person_by_name'),
        ),
        AddIndexOnline(
            model_name='person',
            index=models.Index(fields=['organization', 'manager'], name='people_person_by_manager'),
        ),
        AddIndexOnline(
            model_name='person',
            index=models.Index(fields=['organization', 'end_date', 'start_date'], name='people_person_employed'),
        ),
        AddIndexOnline(
            model_name='person',
            index=models.Index(condition=models.Q(('search_text', None)), fields=['organization'], name='people_person_unfilled'),
        ),
        AddIndexOnline(
            model_name='timeoff',
            index=models.Index(fields=['organization', 'status', 'start_date', 'end_date'], name='people_time_off_by_status'),
        ),
    ]

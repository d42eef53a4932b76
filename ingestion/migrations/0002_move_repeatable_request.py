from django.db import migrations


class Migration(migrations.Migration):
    """Gives the model to `rest`. The table stays, and the version before still uses it."""

    dependencies = [
        ('ingestion', '0001_squashed'),
        ('rest', '0001_repeatable_request'),
    ]

    operations = [
        migrations.SeparateDatabaseAndState(
            state_operations=[migrations.DeleteModel(name='RepeatableRequest')],
        ),
    ]

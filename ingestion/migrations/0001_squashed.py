import django.db.models.deletion
import django.utils.timezone
from django.db import migrations, models


class Migration(migrations.Migration):

    replaces = [('ingestion', '0001_repeatable_request')]

    initial = True

    dependencies = [
        ('workspace', '0002_squashed_tables'),
    ]

    operations = [
        migrations.CreateModel(
            name='RepeatableRequest',
            fields=[
                ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                ('key', models.CharField(max_length=200)),
                ('fingerprint', models.CharField(max_length=64)),
                ('response', models.JSONField(default=dict)),
                ('created_at', models.DateTimeField(db_index=True, default=django.utils.timezone.now)),
                ('organization', models.ForeignKey(db_index=False, on_delete=django.db.models.deletion.CASCADE, related_name='+', to='workspace.organization')),
            ],
            options={
                'verbose_name': 'repeatable request',
                'verbose_name_plural': 'repeatable requests',
                'constraints': [models.UniqueConstraint(fields=('organization', 'key'), name='ingestion_one_request_per_key')],
            },
        ),
    ]

"""The number of workers that have begun with an import."""

from django.db import migrations, models


class Migration(migrations.Migration):

    dependencies = [
        ('workspace', '0012_included_columns'),
    ]

    operations = [
        migrations.AddField(
            model_name='dataimport',
            name='attempts',
            field=models.PositiveSmallIntegerField(default=0, editable=False),
        ),
    ]

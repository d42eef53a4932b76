from django.db import migrations, models

from workspace.migrations import _words


class Migration(migrations.Migration):

    dependencies = [
        ('workspace', '0009_search_text_indexes'),
    ]

    operations = [
        migrations.RunPython(_words.limit_waits, migrations.RunPython.noop),
        migrations.AddField(
            model_name='company',
            name='trait_times',
            field=models.JSONField(editable=False, null=True),
        ),
        migrations.AddField(
            model_name='customer',
            name='trait_times',
            field=models.JSONField(editable=False, null=True),
        ),
    ]

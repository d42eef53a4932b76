import foundation.text.columns
from django.db import migrations, models

from workspace.migrations import _words


class Migration(migrations.Migration):

    dependencies = [
        ('workspace', "0019_pages_of_sources"),
    ]

    operations = [
        migrations.RunPython(_words.limit_waits, migrations.RunPython.noop),
        migrations.AddField(
            model_name='knowledgesource',
            name='reader',
            field=models.PositiveSmallIntegerField(db_default=0, default=0, editable=False),
        ),
        migrations.AddField(
            model_name='knowledgechunk',
            name='search_text',
            field=foundation.text.columns.SearchTextField(editable=False, null=True, sources=('title', 'heading', 'text')),
        ),
        migrations.RunPython(_words.create_passage_index, _words.drop_passage_index),
    ]

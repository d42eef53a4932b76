from django.db import migrations, models

from foundation.db.add_index import AddIndexOnline
from workspace.migrations import _words


class Migration(migrations.Migration):

    # PostgreSQL adds no index within a transaction while rows are written.
    atomic = False

    dependencies = [
        ('workspace', "0020_knowledge_words"),
    ]

    operations = [
        AddIndexOnline(
            model_name='knowledgechunk',
            index=models.Index(condition=models.Q(('search_text', None)), fields=['id'], name='workspace_chunk_unfilled'),
        ),
        migrations.RunPython(_words.index_passage_words, _words.drop_passage_words, atomic=False),
    ]

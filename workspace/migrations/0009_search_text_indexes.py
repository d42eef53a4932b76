from django.db import migrations, models

from foundation.db.add_index import AddIndexOnline
from workspace.migrations import _words


class Migration(migrations.Migration):

    # PostgreSQL adds no index within a transaction while rows are written.
    atomic = False

    dependencies = [
        ('workspace', '0008_search_text'),
    ]

    operations = [
        AddIndexOnline(
            model_name='conversationmessage',
            index=models.Index(condition=models.Q(('search_text', None)), fields=['id'], name='workspace_conv_unfilled'),
        ),
        AddIndexOnline(
            model_name='lead',
            index=models.Index(condition=models.Q(('search_text', None)), fields=['id'], name='workspace_lead_unfilled'),
        ),
        AddIndexOnline(
            model_name='ticketmessage',
            index=models.Index(condition=models.Q(('search_text', None)), fields=['id'], name='workspace_tkt_unfilled'),
        ),
        migrations.RunPython(_words.index_search_words, _words.drop_indexes, atomic=False),
    ]

import django.db.models.deletion
from django.db import migrations, models

import people.search_words
from people.migrations import _words
from workspace.migrations._words import limit_waits


class Migration(migrations.Migration):

    dependencies = [
        ('people', '0005_default_holiday_calendars'),
    ]

    operations = [
        migrations.RunPython(limit_waits, migrations.RunPython.noop),
        migrations.AddField(
            model_name='person',
            name='search_text',
            field=people.search_words.PersonWordsField(editable=False, null=True, sources=('first_name', 'last_name', 'preferred_name', 'work_email', 'job_title')),
        ),
        migrations.CreateModel(
            name='PersonWord',
            fields=[
                ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                ('word', models.CharField(max_length=60, verbose_name='word')),
                ('organization', models.ForeignKey(db_constraint=False, db_index=False, on_delete=django.db.models.deletion.DO_NOTHING, related_name='+', to='workspace.organization')),
                ('person', models.ForeignKey(db_constraint=False, on_delete=django.db.models.deletion.DO_NOTHING, related_name='+', to='people.person')),
            ],
            options={
                'verbose_name': 'word of a person',
                'verbose_name_plural': 'words of people',
                'indexes': [
                    models.Index(fields=['organization', 'word', 'person'], name='people_word_of_person'),
                ],
            },
        ),
        migrations.RunPython(_words.create_triggers, _words.drop_triggers),
    ]

"""Pages of sources stay, with their state, their times and what tells whether they changed."""

from typing import ClassVar

from django.db import migrations, models


class Migration(migrations.Migration):

    dependencies: ClassVar = [
        ('workspace', "0018_figure_changes"),
    ]

    operations: ClassVar = [
        migrations.AlterModelOptions(
            name='knowledgepage',
            options={'verbose_name': 'page', 'verbose_name_plural': 'pages'},
        ),
        migrations.AddField(
            model_name='knowledgepage',
            name='address',
            field=models.CharField(blank=True, db_default='', default='', max_length=2048, verbose_name='address'),
        ),
        migrations.AddField(
            model_name='knowledgepage',
            name='digest',
            field=models.CharField(blank=True, db_default='', default='', max_length=80),
        ),
        migrations.AddField(
            model_name='knowledgepage',
            name='etag',
            field=models.CharField(blank=True, db_default='', default='', max_length=300),
        ),
        migrations.AddField(
            model_name='knowledgepage',
            name='final_url',
            field=models.CharField(blank=True, db_default='', default='', max_length=2048),
        ),
        migrations.AddField(
            model_name='knowledgepage',
            name='last_modified',
            field=models.CharField(blank=True, db_default='', default='', max_length=100),
        ),
        migrations.AddField(
            model_name='knowledgepage',
            name='lastmod',
            field=models.CharField(blank=True, db_default='', default='', max_length=100),
        ),
        migrations.AddField(
            model_name='knowledgepage',
            name='modified_at',
            field=models.DateTimeField(null=True, verbose_name='changed by its author'),
        ),
        migrations.AddField(
            model_name='knowledgepage',
            name='passage_count',
            field=models.PositiveIntegerField(db_default=0, default=0, verbose_name='passages'),
        ),
        migrations.AddField(
            model_name='knowledgepage',
            name='read_at',
            field=models.DateTimeField(null=True, verbose_name='read'),
        ),
        migrations.AddField(
            model_name='knowledgepage',
            name='title',
            field=models.CharField(blank=True, db_default='', default='', max_length=300, verbose_name='title'),
        ),
        migrations.AddField(
            model_name='knowledgepage',
            name='tried_at',
            field=models.DateTimeField(null=True, verbose_name='last tried'),
        ),
        migrations.AddField(
            model_name='knowledgesource',
            name='file_name',
            field=models.CharField(blank=True, db_default='', default='', max_length=255, verbose_name='file'),
        ),
        migrations.AddField(
            model_name='knowledgesource',
            name='listed_at',
            field=models.DateTimeField(editable=False, null=True),
        ),
        migrations.AlterField(
            model_name='knowledgepage',
            name='error',
            field=models.TextField(blank=True, verbose_name='reason'),
        ),
        migrations.AlterField(
            model_name='knowledgepage',
            name='size',
            field=models.PositiveIntegerField(default=0, verbose_name='bytes'),
        ),
        migrations.AlterField(
            model_name='knowledgepage',
            name='state',
            field=models.CharField(choices=[('waiting', 'Waiting'), ('read', 'Read'), ('unchanged', 'Unchanged'), ('kept', 'Kept after a failure'), ('failed', 'Could not be read'), ('copy', 'Copy of another page'), ('excluded', 'Not indexed'), ('gone', 'Gone')], default='waiting', max_length=10, verbose_name='state'),
        ),
        migrations.AlterField(
            model_name='knowledgepage',
            name='url',
            field=models.CharField(max_length=2048, verbose_name='address in the list'),
        ),
        migrations.AlterField(
            model_name='knowledgesource',
            name='status',
            field=models.CharField(choices=[('pending', 'Waiting'), ('indexing', 'Being indexed'), ('ready', 'Ready'), ('failed', 'Failed'), ('excluded', 'Not indexed')], default='pending', editable=False, max_length=10, verbose_name='status'),
        ),
    ]

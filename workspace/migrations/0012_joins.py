"""Records of joins, other ids and earlier addresses of customers; addresses of tickets as keys."""

import django.db.models.deletion
import django.utils.timezone
from django.db import migrations, models

import workspace.models.joins
from workspace.migrations import _words


class Migration(migrations.Migration):

    dependencies = [
        ('workspace', "0011_suspended_members"),
    ]

    operations = [
        migrations.RunPython(_words.limit_waits, migrations.RunPython.noop),
        migrations.CreateModel(
            name='Join',
            fields=[
                ('id', models.CharField(default=workspace.models.joins.new_join_id, editable=False, max_length=64, primary_key=True, serialize=False, verbose_name='join id')),
                ('rule', models.CharField(choices=[('session', 'Same session'), ('address', 'Same email address'), ('merge', 'Two customers are one person')], max_length=10, verbose_name='rule')),
                ('source', models.CharField(max_length=254, verbose_name='source')),
                ('origin', models.CharField(choices=[('page', 'Page'), ('server', 'Server'), ('import', 'Import'), ('admin', 'Admin')], max_length=10, verbose_name='from')),
                ('actor', models.CharField(blank=True, max_length=254, verbose_name='by')),
                ('rows', models.JSONField(default=dict, verbose_name='rows')),
                ('companies', models.JSONField(default=dict)),
                ('filled', models.JSONField(default=dict)),
                ('merged', models.JSONField(default=dict)),
                ('joined_at', models.DateTimeField(default=django.utils.timezone.now, verbose_name='joined')),
                ('undone_at', models.DateTimeField(null=True, verbose_name='undone')),
                ('undone_by', models.CharField(blank=True, max_length=254, verbose_name='undone by')),
                ('customer', models.ForeignKey(on_delete=django.db.models.deletion.CASCADE, related_name='joins', to='workspace.customer')),
                ('organization', models.ForeignKey(db_index=False, on_delete=django.db.models.deletion.CASCADE, related_name='+', to='workspace.organization')),
            ],
            options={
                'verbose_name': 'join',
                'verbose_name_plural': 'joins',
                'indexes': [
                    models.Index(fields=['organization', '-joined_at', 'id'], name='workspace_join_new'),
                    models.Index(fields=['organization', 'source'], name='workspace_join_source'),
                ],
            },
        ),
        migrations.CreateModel(
            name='CustomerAlias',
            fields=[
                ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                ('kind', models.CharField(choices=[('id', 'Customer id'), ('external_id', 'External id'), ('email', 'Earlier email address')], max_length=12, verbose_name='kind')),
                ('value', models.CharField(max_length=254, verbose_name='value')),
                ('key', models.CharField(editable=False, max_length=254)),
                ('created_at', models.DateTimeField(default=django.utils.timezone.now, verbose_name='created')),
                ('customer', models.ForeignKey(db_index=False, on_delete=django.db.models.deletion.CASCADE, related_name='aliases', to='workspace.customer')),
                ('organization', models.ForeignKey(db_index=False, on_delete=django.db.models.deletion.CASCADE, related_name='+', to='workspace.organization')),
                ('join', models.ForeignKey(null=True, on_delete=django.db.models.deletion.SET_NULL, related_name='aliases', to='workspace.join')),
            ],
            options={
                'verbose_name': 'alias',
                'verbose_name_plural': 'aliases',
                'indexes': [
                    models.Index(fields=['key', 'organization'], name='workspace_alias_key'),
                ],
                'constraints': [
                    models.UniqueConstraint(condition=models.Q(('kind', 'email'), _negated=True), fields=('organization', 'kind', 'key'), name='workspace_one_alias'),
                    models.UniqueConstraint(fields=('customer', 'kind', 'key'), name='workspace_one_alias_of_customer'),
                ],
            },
        ),
        migrations.AddField(
            model_name='customer',
            name='email_claimed_at',
            field=models.DateTimeField(editable=False, null=True),
        ),
        migrations.AddField(
            model_name='ticket',
            name='email_key',
            field=models.CharField(editable=False, max_length=254, null=True),
        ),
        migrations.AddField(
            model_name='ticket',
            name='email_proven_at',
            field=models.DateTimeField(editable=False, null=True),
        ),
    ]

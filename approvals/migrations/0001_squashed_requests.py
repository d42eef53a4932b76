"""The table of requests for approval."""

import functools

import approvals.models
import django.db.models.deletion
import django.utils.timezone
import foundation.ids
from django.conf import settings
from django.db import migrations, models


class Migration(migrations.Migration):

    replaces = [
        ('approvals', '0001_squashed'),
        ('approvals', '0003_rule_of_a_request'),
        ('approvals', '0004_announced_requests'),
        ('approvals', '0005_end_requests_without_rules'),
        ('approvals', '0006_mails_of_requests'),
        ('approvals', '0007_execution_by_the_worker'),
        ('approvals', '0008_indexes_of_requests'),
        ('approvals', '0009_idempotency_keys_of_calls'),
        ('approvals', '0010_rejected_requests'),
    ]

    initial = True

    dependencies = [
        ('workspace', '0002_squashed_tables'),
    ]

    operations = [
        migrations.CreateModel(
            name='ApprovalRequest',
            fields=[
                ('id', models.UUIDField(default=foundation.ids.uuid7, editable=False, primary_key=True, serialize=False)),
                ('integration', models.CharField(blank=True, max_length=80, verbose_name='integration')),
                ('arguments', models.JSONField(default=dict, verbose_name='arguments')),
                ('digest', models.CharField(editable=False, max_length=64)),
                ('summary', models.CharField(max_length=300, verbose_name='summary')),
                ('why', models.TextField(blank=True, verbose_name='reason given')),
                ('customer_id', models.CharField(blank=True, max_length=64, verbose_name='bound customer')),
                ('user_id', models.CharField(max_length=64, verbose_name='requested by')),
                ('user_email', models.CharField(max_length=254, verbose_name='requested by (email)')),
                ('client_id', models.CharField(max_length=255, verbose_name='client')),
                ('client_name', models.CharField(blank=True, max_length=255, verbose_name='client name')),
                ('authorization_id', models.CharField(max_length=64, verbose_name='authorization')),
                ('credential_id', models.CharField(max_length=64, verbose_name='credential')),
                ('status', models.CharField(choices=[('pending', 'Waiting for approval'), ('running', 'Running'), ('done', 'Done'), ('failed', 'Failed'), ('unknown', 'Unknown: check with the vendor'), ('declined', 'Rejected'), ('expired', 'Expired')], default='pending', max_length=20, verbose_name='status')),
                ('created_at', models.DateTimeField(default=django.utils.timezone.now, verbose_name='requested')),
                ('expires_at', models.DateTimeField(default=approvals.models.default_expiry, verbose_name='expires')),
                ('decided_at', models.DateTimeField(null=True, verbose_name='decided')),
                ('note', models.CharField(blank=True, max_length=500, verbose_name='note')),
                ('idempotency_key', models.CharField(default=functools.partial(foundation.ids.opaque, *('halo_br_',), **{}), editable=False, max_length=64)),
                ('claim', models.UUIDField(editable=False, null=True)),
                ('claimed_at', models.DateTimeField(editable=False, null=True)),
                ('sent_at', models.DateTimeField(null=True, verbose_name='first sent to the vendor')),
                ('result', models.JSONField(null=True, verbose_name='result')),
                ('problem', models.CharField(blank=True, max_length=500, verbose_name='problem')),
                ('execution_id', models.CharField(blank=True, max_length=64, verbose_name='audit row')),
                ('decided_by', models.ForeignKey(null=True, on_delete=django.db.models.deletion.SET_NULL, related_name='+', to=settings.AUTH_USER_MODEL, verbose_name='decided by')),
                ('organization', models.ForeignKey(on_delete=django.db.models.deletion.CASCADE, related_name='approval_requests', to='workspace.organization', verbose_name='organization')),
                ('surface', models.CharField(default='workspace', editable=False, max_length=80)),
                ('tool', models.CharField(max_length=255, verbose_name='action to perform')),
                ('requested_with', models.CharField(max_length=255, verbose_name='requested with')),
                ('credential', models.CharField(max_length=40, verbose_name='kind of credential')),
                ('ended_at', models.DateTimeField(editable=False, null=True, verbose_name='ended')),
                ('version', models.PositiveIntegerField(editable=False, null=True, verbose_name='version of the document')),
                ('call', models.CharField(blank=True, editable=False, max_length=300)),
                ('rule', models.JSONField(editable=False, null=True, verbose_name='rule')),
                ('announced_at', models.DateTimeField(editable=False, null=True)),
                ('mails', models.ManyToManyField(editable=False, related_name='approval_requests', to='workspace.outgoingmail')),
                ('decider_address', models.CharField(blank=True, db_default='', default='', editable=False, max_length=64)),
                ('execution_state', models.CharField(blank=True, choices=[('queued', 'Waits for the background worker'), ('begun', 'Is being executed')], db_default='', default='', editable=False, max_length=10, verbose_name='execution')),
                ('status_before', models.CharField(blank=True, db_default='', default='', editable=False, max_length=20)),
                ('caller_key', models.CharField(blank=True, db_default='', default='', editable=False, max_length=64)),
            ],
            options={
                'verbose_name': 'approval request',
                'verbose_name_plural': 'approval requests',
                'ordering': ('-id',),
                'permissions': [('decide_approvalrequest', 'Can approve or reject approval requests')],
                'default_permissions': ('view',),
                'indexes': [models.Index(fields=['organization', 'status'], name='approvals_by_status'), models.Index(condition=models.Q(('announced_at', None), ('status', 'pending')), fields=['organization'], name='approvals_unannounced'), models.Index(fields=['authorization_id', 'digest', '-id'], name='approvals_by_digest'), models.Index(fields=['status', 'expires_at'], name='approvals_by_expiry'), models.Index(fields=['organization', 'ended_at'], name='approvals_by_end'), models.Index(fields=['user_id', '-id'], name='approvals_by_user'), models.Index(fields=['call'], name='approvals_by_call')],
                'constraints': [models.UniqueConstraint(condition=models.Q(('status__in', ('pending', 'running'))), fields=('authorization_id', 'digest'), name='approvals_one_open')],
            },
        ),
    ]

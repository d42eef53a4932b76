import approvals.models
import django.db.models.deletion
import django.utils.timezone
import foundation.ids
import functools
from django.conf import settings
from django.db import migrations, models


class Migration(migrations.Migration):

    replaces = [('approvals', '0001_initial')]

    initial = True

    dependencies = [
        ('workspace', '0002_squashed_workspaces'),
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
                ('status', models.CharField(choices=[('pending', 'Waiting for approval'), ('running', 'Running'), ('done', 'Done'), ('failed', 'Failed'), ('unknown', 'Unknown: check with the vendor'), ('declined', 'Declined'), ('expired', 'Expired')], default='pending', max_length=20, verbose_name='status')),
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
            ],
            options={
                'verbose_name': 'approval request',
                'verbose_name_plural': 'approval requests',
                'ordering': ('-id',),
                'permissions': [('decide_approvalrequest', 'Can approve or decline approval requests')],
                'default_permissions': ('view',),
                'indexes': [models.Index(fields=['organization', 'status'], name='approvals_by_status'), models.Index(condition=models.Q(('call', ''), _negated=True), fields=['call'], name='approvals_by_call')],
                'constraints': [models.UniqueConstraint(condition=models.Q(('status__in', ('pending', 'running'))), fields=('authorization_id', 'digest'), name='approvals_one_open')],
            },
        ),
    ]

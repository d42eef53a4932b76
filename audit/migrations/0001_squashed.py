import django.utils.timezone
import foundation.ids
from django.db import migrations, models

from foundation.db.create_models import CreateModels


class Migration(migrations.Migration):

    replaces = [('audit', '0001_initial'), ('audit', '0002_security_event_slots'), ('audit', '0003_audit_list_indexes'), ('audit', '0004_surface')]

    initial = True

    dependencies = [
    ]

    operations = [
        CreateModels(
            [
                migrations.CreateModel(
                    name='ActionExecution',
                    fields=[
                        ('id', models.UUIDField(default=foundation.ids.uuid7, editable=False, primary_key=True, serialize=False)),
                        ('started_at', models.DateTimeField(default=django.utils.timezone.now, verbose_name='started')),
                        ('duration_us', models.BigIntegerField(null=True, verbose_name='duration, microseconds')),
                        ('organization_id', models.CharField(blank=True, max_length=64, verbose_name='organization')),
                        ('actor_kind', models.CharField(choices=[('mcp_client', 'MCP client'), ('agent', 'Agent'), ('person', 'Person'), ('api_key', 'API key'), ('system', 'System')], max_length=20, verbose_name='actor')),
                        ('client_id', models.CharField(blank=True, max_length=255, verbose_name='client')),
                        ('client_name', models.CharField(blank=True, max_length=255, verbose_name='client name')),
                        ('user_id', models.CharField(blank=True, max_length=64, verbose_name='granted by (id)')),
                        ('user_email', models.CharField(blank=True, max_length=254, verbose_name='granted by')),
                        ('authorization_id', models.CharField(blank=True, max_length=64, verbose_name='authorization')),
                        ('token_id', models.CharField(blank=True, max_length=64, verbose_name='token')),
                        ('bound_customer_id', models.CharField(blank=True, max_length=64, verbose_name='bound customer')),
                        ('method', models.CharField(blank=True, max_length=100, verbose_name='method')),
                        ('tool', models.CharField(blank=True, max_length=200, verbose_name='tool')),
                        ('integration', models.CharField(blank=True, max_length=80, verbose_name='integration')),
                        ('action', models.CharField(blank=True, max_length=120, verbose_name='action')),
                        ('arguments', models.JSONField(default=dict, verbose_name='arguments')),
                        ('outcome', models.CharField(choices=[('started', 'Started'), ('success', 'Success'), ('refused', 'Refused'), ('validation_failed', 'Invalid arguments'), ('not_found', 'Not found'), ('rate_limited', 'Rate limited'), ('tool_error', 'Tool error'), ('integration_error', 'Integration error'), ('protocol_error', 'Malformed request'), ('input_required', 'Waiting for input'), ('pending_approval', 'Waiting for approval'), ('cancelled', 'Cancelled'), ('interrupted', 'Interrupted')], max_length=30, verbose_name='outcome')),
                        ('reason', models.CharField(blank=True, max_length=60, verbose_name='reason')),
                        ('layer', models.CharField(blank=True, max_length=30, verbose_name='layer')),
                        ('detail', models.CharField(blank=True, max_length=500, verbose_name='detail')),
                        ('upstream_status', models.SmallIntegerField(null=True, verbose_name='upstream status')),
                        ('row_count', models.IntegerField(null=True, verbose_name='rows returned')),
                        ('request_id', models.CharField(blank=True, max_length=64, verbose_name='request')),
                        ('revision', models.CharField(blank=True, max_length=20, verbose_name='revision')),
                        ('address', models.CharField(blank=True, max_length=64, verbose_name='address')),
                        ('surface', models.CharField(blank=True, db_default='', default='', max_length=40, verbose_name='surface')),
                    ],
                    options={
                        'verbose_name': 'call',
                        'verbose_name_plural': 'audit log',
                        'db_table': 'action_executions',
                        'ordering': ('-id',),
                        'indexes': [models.Index(condition=models.Q(('outcome', 'started')), fields=['started_at'], name='audit_unfinished'), models.Index(fields=['organization_id', 'id'], name='audit_by_organization'), models.Index(fields=['authorization_id', 'id'], name='audit_by_authorization'), models.Index(fields=['request_id', 'id'], name='audit_by_request'), models.Index(fields=['client_id', 'id'], name='audit_by_client'), models.Index(fields=['user_email', 'id'], name='audit_by_user'), models.Index(condition=models.Q(('integration', ''), _negated=True), fields=['integration', 'id'], name='audit_by_integration'), models.Index(condition=models.Q(('outcome', 'success'), _negated=True), fields=['outcome', 'id'], name='audit_by_outcome'), models.Index(condition=models.Q(('reason', ''), _negated=True), fields=['reason', 'id'], name='audit_by_reason'), models.Index(condition=models.Q(('actor_kind', 'mcp_client'), _negated=True), fields=['actor_kind', 'id'], name='audit_by_actor')],
                    },
                ),
                migrations.CreateModel(
                    name='SecurityEvent',
                    fields=[
                        ('id', models.UUIDField(default=foundation.ids.uuid7, editable=False, primary_key=True, serialize=False)),
                        ('kind', models.CharField(max_length=60, verbose_name='kind')),
                        ('minute', models.DateTimeField(verbose_name='minute')),
                        ('address_prefix', models.CharField(max_length=64, verbose_name='address prefix')),
                        ('subject', models.CharField(blank=True, max_length=64, verbose_name='subject')),
                        ('organization_id', models.CharField(blank=True, max_length=64, verbose_name='organization')),
                        ('client_id', models.CharField(blank=True, max_length=255, verbose_name='client')),
                        ('user_id', models.CharField(blank=True, max_length=64, verbose_name='user')),
                        ('count', models.PositiveBigIntegerField(default=1, verbose_name='count')),
                        ('detail', models.CharField(blank=True, max_length=500, verbose_name='detail')),
                        ('first_at', models.DateTimeField(default=django.utils.timezone.now, verbose_name='first')),
                        ('last_at', models.DateTimeField(default=django.utils.timezone.now, verbose_name='last')),
                        ('slot', models.PositiveSmallIntegerField(default=0, verbose_name='slot')),
                    ],
                    options={
                        'verbose_name': 'security event',
                        'verbose_name_plural': 'security events',
                        'db_table': 'security_events',
                        'ordering': ('-last_at',),
                        'indexes': [models.Index(fields=['-last_at'], name='audit_event_by_time')],
                        'constraints': [models.UniqueConstraint(fields=('kind', 'minute', 'address_prefix', 'subject', 'slot'), name='audit_one_event_per_slot_and_minute')],
                    },
                ),
            ]
        ),
    ]

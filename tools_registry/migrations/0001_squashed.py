import django.core.validators
import django.db.models.deletion
import foundation.ids
from django.conf import settings
from django.db import migrations, models

from foundation.db.create_models import CreateModels


class Migration(migrations.Migration):

    replaces = [('tools_registry', '0001_initial'), ('tools_registry', '0002_documentation_search'), ('tools_registry', '0003_asking'), ('tools_registry', '0004_connections'), ('tools_registry', '0005_session_levels_by_authorization'), ('tools_registry', '0006_billing_requests'), ('tools_registry', '0007_action_caps'), ('tools_registry', '0008_request_wording'), ('tools_registry', '0009_documentation_app'), ('tools_registry', '0010_approvals_app'), ('tools_registry', '0011_pushed_messages')]

    initial = True

    dependencies = [
        ('workspace', '0002_squashed_tables'),
    ]

    operations = [
        CreateModels(
            [
                migrations.CreateModel(
                    name='ActionToggle',
                    fields=[
                        ('id', models.UUIDField(default=foundation.ids.uuid7, editable=False, primary_key=True, serialize=False)),
                        ('integration', models.CharField(max_length=80, verbose_name='integration')),
                        ('action', models.CharField(max_length=120, verbose_name='action')),
                        ('enabled', models.BooleanField(default=False, verbose_name='on')),
                        ('updated_at', models.DateTimeField(auto_now=True, verbose_name='changed')),
                        ('agent', models.ForeignKey(on_delete=django.db.models.deletion.CASCADE, related_name='toggles', to='workspace.agent')),
                        ('updated_by', models.ForeignKey(blank=True, null=True, on_delete=django.db.models.deletion.SET_NULL, related_name='+', to=settings.AUTH_USER_MODEL)),
                        ('calls_per_minute', models.PositiveIntegerField(blank=True, help_text='Calls of this action, of all connections together. Empty: no cap of its own.', null=True, validators=[django.core.validators.MinValueValidator(1), django.core.validators.MaxValueValidator(1000000)], verbose_name='calls a minute')),
                    ],
                    options={
                        'verbose_name': 'action toggle',
                        'verbose_name_plural': 'action toggles',
                        'constraints': [models.UniqueConstraint(fields=('agent', 'integration', 'action'), name='tools_one_toggle_an_action'), models.CheckConstraint(condition=models.Q(('calls_per_minute__isnull', True), models.Q(('calls_per_minute__gte', 1), ('calls_per_minute__lte', 1000000)), _connector='OR'), name='tools_cap_is_a_limit')],
                    },
                ),
                migrations.CreateModel(
                    name='IntegrationMode',
                    fields=[
                        ('id', models.UUIDField(default=foundation.ids.uuid7, editable=False, primary_key=True, serialize=False)),
                        ('integration', models.CharField(max_length=80, verbose_name='integration')),
                        ('actions_on', models.BooleanField(default=True, help_text='Off: every tool of this integration is gone on the next request.', verbose_name='Actions mode')),
                        ('connection', models.CharField(choices=[('not_connected', 'Not connected'), ('connected', 'Connected'), ('failing', 'Failing')], default='not_connected', max_length=20, verbose_name='connection')),
                        ('connected_at', models.DateTimeField(blank=True, null=True, verbose_name='connected')),
                        ('last_error', models.CharField(blank=True, max_length=500, verbose_name='last error')),
                        ('last_error_at', models.DateTimeField(blank=True, null=True, verbose_name='last error at')),
                        ('updated_at', models.DateTimeField(auto_now=True, verbose_name='changed')),
                        ('organization', models.ForeignKey(on_delete=django.db.models.deletion.CASCADE, related_name='integrations', to='workspace.organization')),
                        ('settings', models.JSONField(blank=True, default=dict, verbose_name='settings')),
                    ],
                    options={
                        'verbose_name': 'integration mode',
                        'verbose_name_plural': 'integration modes',
                        'constraints': [models.UniqueConstraint(fields=('organization', 'integration'), name='tools_one_mode_an_integration')],
                    },
                ),
                migrations.CreateModel(
                    name='Question',
                    fields=[
                        ('id', models.CharField(max_length=64, primary_key=True, serialize=False)),
                        ('authorization_id', models.CharField(max_length=64)),
                        ('sealed_answer', models.BinaryField(null=True)),
                        ('expires_at', models.DateTimeField(db_index=True)),
                    ],
                ),
                migrations.CreateModel(
                    name='SessionLevel',
                    fields=[
                        ('session', models.CharField(max_length=64, primary_key=True, serialize=False)),
                        ('level', models.CharField(max_length=20)),
                        ('expires_at', models.DateTimeField(db_index=True)),
                        ('authorization_id', models.CharField(db_index=True, default='', max_length=64)),
                    ],
                ),
                migrations.CreateModel(
                    name='SpentState',
                    fields=[
                        ('name', models.CharField(max_length=64, primary_key=True, serialize=False)),
                        ('expires_at', models.DateTimeField(db_index=True)),
                    ],
                ),
                migrations.CreateModel(
                    name='Credential',
                    fields=[
                        ('id', models.UUIDField(default=foundation.ids.uuid7, editable=False, primary_key=True, serialize=False)),
                        ('sealed', models.BinaryField()),
                        ('updated_at', models.DateTimeField(auto_now=True, verbose_name='changed')),
                        ('mode', models.OneToOneField(on_delete=django.db.models.deletion.CASCADE, related_name='credential', to='tools_registry.integrationmode')),
                    ],
                    options={
                        'verbose_name': 'credential',
                        'verbose_name_plural': 'credentials',
                    },
                ),
                migrations.CreateModel(
                    name='PushedMessage',
                    fields=[
                        ('id', models.UUIDField(default=foundation.ids.uuid7, editable=False, primary_key=True, serialize=False)),
                        ('authorization_id', models.CharField(db_index=True, max_length=64)),
                        ('sealed', models.BinaryField()),
                        ('expires_at', models.DateTimeField(db_index=True)),
                    ],
                ),
            ]
        ),
    ]

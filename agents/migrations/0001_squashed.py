import agents.models
import django.core.validators
import django.db.models.deletion
import django.utils.timezone
import foundation.ids
from django.db import migrations, models

from foundation.db.create_models import CreateModels


class Migration(migrations.Migration):

    replaces = [('agents', '0001_initial'), ('agents', '0002_language_models'), ('agents', '0003_definitions'), ('agents', '0004_options'), ('agents', '0005_waiting_calls'), ('agents', '0006_turns_outlive_sessions'), ('agents', '0007_turns_of_organizations')]

    initial = True

    dependencies = [
        ('workspace', '0002_squashed_tables'),
    ]

    operations = [
        CreateModels(
            [
                migrations.CreateModel(
                    name='Session',
                    fields=[
                        ('id', models.CharField(default=agents.models.new_session_id, editable=False, max_length=64, primary_key=True, serialize=False)),
                        ('key_id', models.UUIDField(verbose_name='API key')),
                        ('agent', models.CharField(max_length=100, verbose_name='agent')),
                        ('tools', models.JSONField(default=list, verbose_name='tools')),
                        ('options', models.JSONField(default=dict, verbose_name='options')),
                        ('client_tools', models.JSONField(default=list, verbose_name='tools of the application')),
                        ('turn_id', models.UUIDField(editable=False, null=True, verbose_name='running turn')),
                        ('leased_until', models.DateTimeField(editable=False, null=True)),
                        ('created_at', models.DateTimeField(default=django.utils.timezone.now, editable=False, verbose_name='created')),
                        ('updated_at', models.DateTimeField(default=django.utils.timezone.now, editable=False, verbose_name='changed')),
                        ('organization', models.ForeignKey(on_delete=django.db.models.deletion.CASCADE, related_name='+', to='workspace.organization')),
                        ('sealed_options', models.BinaryField(default=bytes)),
                    ],
                    options={
                        'verbose_name': 'agent session',
                        'verbose_name_plural': 'agent sessions',
                        'ordering': ('-id',),
                        'indexes': [models.Index(fields=['key_id', 'id'], name='agents_sessions_of_key'), models.Index(fields=['organization', 'updated_at'], name='agents_sessions_by_age')],
                    },
                ),
                migrations.CreateModel(
                    name='SessionTurn',
                    fields=[
                        ('id', models.UUIDField(default=foundation.ids.uuid7, editable=False, primary_key=True, serialize=False)),
                        ('idempotency_key', models.CharField(blank=True, max_length=255)),
                        ('request_digest', models.CharField(blank=True, max_length=64)),
                        ('started_at', models.DateTimeField(default=django.utils.timezone.now, verbose_name='began')),
                        ('ended_at', models.DateTimeField(null=True, verbose_name='ended')),
                        ('stop_reason', models.CharField(blank=True, max_length=20, verbose_name='stop reason')),
                        ('error', models.CharField(blank=True, max_length=500, verbose_name='error')),
                        ('model', models.CharField(blank=True, max_length=100, verbose_name='model')),
                        ('input_tokens', models.PositiveIntegerField(default=0, verbose_name='input tokens')),
                        ('output_tokens', models.PositiveIntegerField(default=0, verbose_name='output tokens')),
                        ('cost_micros', models.PositiveBigIntegerField(default=0, verbose_name='cost, millionths')),
                        ('is_measured', models.BooleanField(default=True, verbose_name='counted by the provider')),
                        ('session', models.ForeignKey(null=True, on_delete=django.db.models.deletion.SET_NULL, related_name='turns', to='agents.session', verbose_name='session')),
                        ('granted', models.JSONField(default=list, editable=False)),
                        ('has_own_key', models.BooleanField(default=False, verbose_name="with the application's own key")),
                        ('organization', models.ForeignKey(on_delete=django.db.models.deletion.CASCADE, related_name='+', to='workspace.organization', verbose_name='organization')),
                        ('key_id', models.UUIDField(verbose_name='API key')),
                        ('agent', models.CharField(max_length=100, verbose_name='agent')),
                    ],
                    options={
                        'verbose_name': 'turn',
                        'verbose_name_plural': 'turns',
                        'ordering': ('session', 'id'),
                        'indexes': [models.Index(fields=['organization', 'started_at'], name='agents_turns_of_day')],
                        'constraints': [models.UniqueConstraint(condition=models.Q(('idempotency_key', ''), _negated=True), fields=('session', 'idempotency_key'), name='agents_turn_once')],
                    },
                ),
                migrations.CreateModel(
                    name='SessionMessage',
                    fields=[
                        ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                        ('position', models.PositiveIntegerField()),
                        ('content', models.JSONField(verbose_name='message')),
                        ('state', models.JSONField(null=True)),
                        ('created_at', models.DateTimeField(default=django.utils.timezone.now, verbose_name='created')),
                        ('session', models.ForeignKey(on_delete=django.db.models.deletion.CASCADE, related_name='messages', to='agents.session')),
                        ('turn', models.ForeignKey(null=True, on_delete=django.db.models.deletion.CASCADE, related_name='messages', to='agents.sessionturn')),
                    ],
                    options={
                        'verbose_name': 'message',
                        'verbose_name_plural': 'messages',
                        'ordering': ('session', 'position'),
                        'constraints': [models.UniqueConstraint(fields=('session', 'position'), name='agents_message_order')],
                    },
                ),
                migrations.CreateModel(
                    name='LanguageModel',
                    fields=[
                        ('id', models.UUIDField(default=foundation.ids.uuid7, editable=False, primary_key=True, serialize=False)),
                        ('provider', models.CharField(choices=[('anthropic', 'Anthropic'), ('openai', 'OpenAI, or another with the same API')], max_length=20, verbose_name='provider')),
                        ('model', models.CharField(help_text='As the provider names it: claude-sonnet-5.', max_length=200, verbose_name='model')),
                        ('base_url', models.CharField(blank=True, help_text="Empty for the provider's own. https://llm.example.com/v1", max_length=500, verbose_name='base URL')),
                        ('sealed', models.BinaryField(default=bytes)),
                        ('is_used', models.BooleanField(default=True, help_text='By all that have no model of their own. An organization has one such model.', verbose_name='used by the agents')),
                        ('max_output_tokens', models.PositiveIntegerField(default=4096, validators=[django.core.validators.MinValueValidator(1), django.core.validators.MaxValueValidator(1000000)], verbose_name='output tokens of one response')),
                        ('input_price', models.DecimalField(blank=True, decimal_places=4, help_text='Empty for the published price of a known model.', max_digits=12, null=True, validators=[django.core.validators.MinValueValidator(0)], verbose_name='price of a million input tokens, USD')),
                        ('output_price', models.DecimalField(blank=True, decimal_places=4, max_digits=12, null=True, validators=[django.core.validators.MinValueValidator(0)], verbose_name='price of a million output tokens, USD')),
                        ('daily_budget', models.DecimalField(blank=True, decimal_places=2, help_text='No turn begins once this is used up, until 00:00 UTC. Empty for no limit.', max_digits=12, null=True, validators=[django.core.validators.MinValueValidator(0)], verbose_name='budget of a day, USD')),
                        ('created_at', models.DateTimeField(default=django.utils.timezone.now, editable=False, verbose_name='created')),
                        ('updated_at', models.DateTimeField(auto_now=True, verbose_name='changed')),
                        ('organization', models.ForeignKey(on_delete=django.db.models.deletion.CASCADE, related_name='+', to='workspace.organization', verbose_name='organization')),
                    ],
                    options={
                        'verbose_name': 'language model',
                        'verbose_name_plural': 'language models',
                        'ordering': ('organization', 'model', 'id'),
                        'constraints': [models.UniqueConstraint(condition=models.Q(('is_used', True)), fields=('organization',), name='agents_one_model_used', violation_error_message="The organization's agents use another model already.")],
                    },
                ),
                migrations.CreateModel(
                    name='AgentDefinition',
                    fields=[
                        ('id', models.UUIDField(default=foundation.ids.uuid7, editable=False, primary_key=True, serialize=False)),
                        ('name', models.CharField(help_text='By which applications call it: support-agent.', max_length=64, validators=[django.core.validators.RegexValidator('^[a-z0-9]+(-[a-z0-9]+)*\\Z', 'Use a-z, 0-9 and hyphens.')], verbose_name='name')),
                        ('title', models.CharField(max_length=200, verbose_name='title')),
                        ('version', models.CharField(default='1.0.0', max_length=50, validators=[django.core.validators.RegexValidator('^\\d{1,9}(\\.\\d{1,9}){2}\\Z', 'Use three numbers: 1.0.0.')], verbose_name='version')),
                        ('description', models.CharField(blank=True, max_length=1000, verbose_name='description')),
                        ('instructions', models.TextField(help_text='What the language model is to do.', max_length=50000, verbose_name='instructions')),
                        ('tools', models.JSONField(blank=True, default=list, help_text='None for every tool that a key may use.', verbose_name='tools')),
                        ('is_enabled', models.BooleanField(default=True, verbose_name='enabled')),
                        ('max_steps', models.PositiveIntegerField(default=10, validators=[django.core.validators.MinValueValidator(1), django.core.validators.MaxValueValidator(100)], verbose_name='responses of the model in a turn')),
                        ('max_tool_calls', models.PositiveIntegerField(default=40, validators=[django.core.validators.MinValueValidator(0), django.core.validators.MaxValueValidator(1000)], verbose_name='calls of tools in a turn')),
                        ('max_tokens', models.PositiveIntegerField(default=200000, validators=[django.core.validators.MinValueValidator(1), django.core.validators.MaxValueValidator(100000000)], verbose_name='tokens of a turn')),
                        ('max_seconds', models.PositiveIntegerField(default=300, validators=[django.core.validators.MinValueValidator(1), django.core.validators.MaxValueValidator(3600)], verbose_name='seconds of a turn')),
                        ('created_at', models.DateTimeField(default=django.utils.timezone.now, editable=False, verbose_name='created')),
                        ('updated_at', models.DateTimeField(auto_now=True, verbose_name='changed')),
                        ('organization', models.ForeignKey(on_delete=django.db.models.deletion.CASCADE, related_name='+', to='workspace.organization', verbose_name='organization')),
                        ('approval_tools', models.JSONField(blank=True, default=list, help_text='Each of their calls waits until an admin approves it.', verbose_name='tools that need an approval')),
                        ('daily_budget', models.DecimalField(blank=True, decimal_places=2, help_text='No turn of it begins once this is used up, until 00:00 UTC.', max_digits=12, null=True, validators=[django.core.validators.MinValueValidator(0)], verbose_name='budget of a day, USD')),
                        ('language_model', models.ForeignKey(blank=True, help_text='None for the one that the agents of the organization use.', null=True, on_delete=django.db.models.deletion.SET_NULL, related_name='+', to='agents.languagemodel', verbose_name='language model')),
                    ],
                    options={
                        'verbose_name': 'agent for applications',
                        'verbose_name_plural': 'agents for applications',
                        'ordering': ('organization', 'name'),
                        'constraints': [models.UniqueConstraint(fields=('organization', 'name'), name='agents_definition_name', violation_error_message='The organization has an agent of this name.')],
                    },
                ),
                migrations.CreateModel(
                    name='AgentOption',
                    fields=[
                        ('id', models.UUIDField(default=foundation.ids.uuid7, editable=False, primary_key=True, serialize=False)),
                        ('name', models.CharField(help_text='By which applications set it: language.', max_length=64, validators=[django.core.validators.RegexValidator('^[a-z][a-z0-9_]*\\Z', 'Use a-z, 0-9 and _, and begin with a letter.')], verbose_name='name')),
                        ('title', models.CharField(max_length=200, verbose_name='title')),
                        ('description', models.CharField(blank=True, max_length=1000, verbose_name='description')),
                        ('type', models.CharField(choices=[('text', 'text'), ('select', 'choice from a list'), ('secret', 'own key of the application for the language model')], default='text', max_length=10, verbose_name='type')),
                        ('choices', models.TextField(blank=True, help_text='Of a list, one in each line.', max_length=10000, verbose_name='choices')),
                        ('default', models.CharField(blank=True, max_length=1000, verbose_name='default')),
                        ('agent', models.ForeignKey(on_delete=django.db.models.deletion.CASCADE, related_name='options', to='agents.agentdefinition')),
                    ],
                    options={
                        'verbose_name': 'option',
                        'verbose_name_plural': 'options',
                        'ordering': ('agent', 'id'),
                        'constraints': [models.UniqueConstraint(fields=('agent', 'name'), name='agents_option_name', violation_error_message='The agent has an option of this name.'), models.UniqueConstraint(condition=models.Q(('type', 'secret')), fields=('agent',), name='agents_one_own_key', violation_error_message='The agent has another option for a key.')],
                    },
                ),
            ]
        ),
    ]

"""All tables of the workspace but for users, and what search needs in addition to them.

The users have a migration of their own, as other applications' migrations depend on it. Those run
before this one, while there are few models: for each of their operations Django renders every
related model again.
"""

import django.core.validators
import django.db.models.deletion
import django.db.models.expressions
import django.db.models.functions.comparison
import django.db.models.functions.text
import django.utils.timezone
import foundation.ids
import workspace.models.conversations
import workspace.models.customers
import workspace.models.imports
import workspace.models.knowledge
import workspace.models.people
import workspace.models.support
from decimal import Decimal
from django.conf import settings
from django.db import migrations, models

from foundation.db.create_models import CreateModels

from workspace.migrations import _search


class Migration(migrations.Migration):

    replaces = [('workspace', '0002_user_session_generation'), ('workspace', '0003_customers'), ('workspace', '0004_organization_cap'), ('workspace', '0005_data'), ('workspace', '0006_full_text'), ('workspace', '0007_knowledge_search'), ('workspace', '0008_customer_list_indexes'), ('workspace', '0009_imports'), ('workspace', '0010_erasures'), ('workspace', '0011_data_tool_indexes'), ('workspace', '0012_included_columns'), ('workspace', '0013_import_attempts'), ('workspace', '0014_sandboxes'), ('workspace', '0015_counting_indexes')]

    dependencies = [
        ('account', '0009_emailaddress_unique_primary_email'),
        ('admin', '0003_logentry_add_action_flag_choices'),
        ('mfa', '0003_authenticator_type_uniq'),
        ('workspace', '0001_squashed_users'),
    ]

    operations = [
        CreateModels(
            [
                migrations.CreateModel(
                    name='Organization',
                    fields=[
                        ('id', models.UUIDField(default=foundation.ids.uuid7, editable=False, primary_key=True, serialize=False)),
                        ('name', models.CharField(max_length=150, verbose_name='name')),
                        ('slug', models.SlugField(max_length=63, unique=True, verbose_name='short name')),
                        ('widget_key', models.CharField(help_text='Publishable: it names the organization in the chat widget, ab_live_...', max_length=80, unique=True, verbose_name='widget key')),
                        ('identity_secret', models.BinaryField(help_text='Signs the identity tokens of the widget. Sealed; never shown, never listed.', null=True, verbose_name='identity secret, sealed')),
                        ('created_at', models.DateTimeField(default=django.utils.timezone.now, editable=False, verbose_name='created')),
                        ('suspended_at', models.DateTimeField(blank=True, help_text='Set: every token of this organization is refused on the next request.', null=True, verbose_name='suspended')),
                        ('calls_per_minute', models.PositiveIntegerField(blank=True, help_text='Calls of tools over MCP, of all its connections together. Empty: no cap of its own.', null=True, validators=[django.core.validators.MinValueValidator(1), django.core.validators.MaxValueValidator(1000000)], verbose_name='calls a minute')),
                        ('currency', models.CharField(db_default='USD', default='USD', help_text='The currency of every amount, such as MRR.', max_length=3, validators=[django.core.validators.RegexValidator('\\A[A-Z]{3}\\Z', 'Three capital letters (ISO 4217).')], verbose_name='currency')),
                        ('time_zone', models.CharField(db_default='UTC', default='UTC', help_text='Days, weeks and months of the data tools begin at midnight here.', max_length=64, validators=[workspace.models.people.validate_time_zone], verbose_name='time zone')),
                        ('sandbox_of', models.OneToOneField(editable=False, null=True, on_delete=django.db.models.deletion.CASCADE, related_name='sandbox', to='workspace.organization')),
                    ],
                    options={
                        'verbose_name': 'organization',
                        'verbose_name_plural': 'organizations',
                        'ordering': ('name',),
                        'constraints': [models.CheckConstraint(condition=models.Q(('calls_per_minute__isnull', True), models.Q(('calls_per_minute__gte', 1), ('calls_per_minute__lte', 1000000)), _connector='OR'), name='workspace_cap_is_a_limit')],
                    },
                ),
                migrations.CreateModel(
                    name='Membership',
                    fields=[
                        ('id', models.UUIDField(default=foundation.ids.uuid7, editable=False, primary_key=True, serialize=False)),
                        ('role', models.CharField(choices=[('super_admin', 'Super admin'), ('admin', 'Admin'), ('member', 'Member')], default='member', max_length=20, verbose_name='role')),
                        ('created_at', models.DateTimeField(default=django.utils.timezone.now, editable=False, verbose_name='since')),
                        ('user', models.ForeignKey(on_delete=django.db.models.deletion.CASCADE, related_name='memberships', to=settings.AUTH_USER_MODEL)),
                        ('organization', models.ForeignKey(on_delete=django.db.models.deletion.CASCADE, related_name='memberships', to='workspace.organization')),
                    ],
                    options={
                        'verbose_name': 'membership',
                        'verbose_name_plural': 'memberships',
                        'constraints': [models.UniqueConstraint(fields=('user', 'organization'), name='workspace_one_membership')],
                    },
                ),
                migrations.CreateModel(
                    name='FeatureFlag',
                    fields=[
                        ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                        ('name', models.CharField(max_length=60, verbose_name='flag')),
                        ('enabled', models.BooleanField(verbose_name='on')),
                        ('updated_at', models.DateTimeField(auto_now=True, verbose_name='changed')),
                        ('organization', models.ForeignKey(on_delete=django.db.models.deletion.CASCADE, related_name='flags', to='workspace.organization')),
                    ],
                    options={
                        'verbose_name': 'feature flag',
                        'verbose_name_plural': 'feature flags',
                        'constraints': [models.UniqueConstraint(fields=('organization', 'name'), name='workspace_one_flag')],
                    },
                ),
                migrations.CreateModel(
                    name='Agent',
                    fields=[
                        ('id', models.UUIDField(default=foundation.ids.uuid7, editable=False, primary_key=True, serialize=False)),
                        ('kind', models.CharField(choices=[('ask_ai', 'Ask AI'), ('customer_facing', 'Customer-facing'), ('internal', 'Internal'), ('sales', 'Sales'), ('help_center', 'Help center')], max_length=30, verbose_name='kind')),
                        ('name', models.CharField(max_length=150, verbose_name='name')),
                        ('created_at', models.DateTimeField(default=django.utils.timezone.now, editable=False, verbose_name='created')),
                        ('organization', models.ForeignKey(on_delete=django.db.models.deletion.CASCADE, related_name='agents', to='workspace.organization')),
                    ],
                    options={
                        'verbose_name': 'agent',
                        'verbose_name_plural': 'agents',
                        'constraints': [models.UniqueConstraint(condition=models.Q(('kind', 'ask_ai')), fields=('organization',), name='workspace_one_ask_ai')],
                    },
                ),
                migrations.CreateModel(
                    name='Company',
                    fields=[
                        ('plan', models.CharField(blank=True, max_length=100, verbose_name='plan')),
                        ('signed_up_at', models.DateTimeField(blank=True, null=True, verbose_name='signed up')),
                        ('renewal_status', models.CharField(blank=True, choices=[('up_for_renewal', 'Up for renewal'), ('in_progress', 'In progress'), ('likely_to_renew', 'Likely to renew'), ('expansion_opportunity', 'Expansion opportunity'), ('set_to_cancel', 'Set to cancel'), ('set_to_cancel_trial', 'Set to cancel trial'), ('at_risk', 'At risk'), ('renewed', 'Renewed'), ('lost', 'Lost')], max_length=30, verbose_name='renewal status')),
                        ('renewal_date', models.DateField(blank=True, null=True, verbose_name='renewal date')),
                        ('contract_term', models.CharField(blank=True, choices=[('monthly', 'Monthly'), ('quarterly', 'Quarterly'), ('annual', 'Annual'), ('bi_annual', 'Bi-annual')], max_length=10, verbose_name='contract term')),
                        ('payment_terms', models.CharField(blank=True, choices=[('monthly', 'Monthly'), ('quarterly', 'Quarterly'), ('annual', 'Annual'), ('bi_annual', 'Bi-annual')], max_length=10, verbose_name='payment terms')),
                        ('on_contract', models.BooleanField(blank=True, null=True, verbose_name='on contract')),
                        ('mrr', models.DecimalField(blank=True, decimal_places=2, max_digits=14, null=True, validators=[django.core.validators.MinValueValidator(Decimal('0'))], verbose_name='MRR')),
                        ('arr', models.DecimalField(blank=True, decimal_places=2, max_digits=14, null=True, validators=[django.core.validators.MinValueValidator(Decimal('0'))], verbose_name='ARR')),
                        ('custom_fields', models.JSONField(blank=True, default=dict, verbose_name='custom fields')),
                        ('last_contacted_at', models.DateTimeField(editable=False, null=True, verbose_name='last contacted')),
                        ('created_at', models.DateTimeField(default=django.utils.timezone.now, editable=False, verbose_name='created')),
                        ('updated_at', models.DateTimeField(default=django.utils.timezone.now, editable=False, verbose_name='changed')),
                        ('id', models.CharField(default=workspace.models.customers.new_company_id, editable=False, max_length=64, primary_key=True, serialize=False, verbose_name='company id')),
                        ('external_id', models.CharField(blank=True, max_length=200, verbose_name='external id')),
                        ('name', models.CharField(blank=True, max_length=200, verbose_name='name')),
                        ('name_key', models.CharField(blank=True, editable=False, max_length=200)),
                        ('domain', models.CharField(blank=True, max_length=253, verbose_name='domain')),
                        ('industry', models.CharField(blank=True, max_length=100, verbose_name='industry')),
                        ('employee_count', models.PositiveIntegerField(blank=True, null=True, validators=[django.core.validators.MaxValueValidator(2147483647)], verbose_name='employees')),
                        ('health_score', models.PositiveSmallIntegerField(blank=True, null=True, validators=[django.core.validators.MaxValueValidator(100)], verbose_name='health score')),
                        ('team_size', models.PositiveIntegerField(editable=False, null=True, verbose_name='team size')),
                        ('organization', models.ForeignKey(on_delete=django.db.models.deletion.CASCADE, related_name='companies', to='workspace.organization')),
                    ],
                    options={
                        'verbose_name': 'company',
                        'verbose_name_plural': 'companies',
                        'indexes': [models.Index(fields=['organization', 'name_key'], name='workspace_comp_name'), models.Index(fields=['organization', 'domain'], name='workspace_comp_domain'), models.Index(fields=['organization', '-mrr', 'id'], name='workspace_comp_mrr'), models.Index(fields=['organization', 'health_score', 'id'], name='workspace_comp_health'), models.Index(fields=['organization', 'renewal_date', 'id'], name='workspace_comp_renewal'), models.Index(fields=['organization', '-created_at', 'id'], name='workspace_comp_new')],
                        'constraints': [models.UniqueConstraint(condition=models.Q(('external_id', ''), _negated=True), fields=('organization', 'external_id'), name='workspace_one_company_external_id', violation_error_message='Another company has this external id.')],
                    },
                ),
                migrations.CreateModel(
                    name='Customer',
                    fields=[
                        ('id', models.CharField(default=workspace.models.customers.new_customer_id, editable=False, help_text='What a client sends as bound_end_user_id.', max_length=64, primary_key=True, serialize=False, verbose_name='customer id')),
                        ('external_id', models.CharField(blank=True, help_text="The customer's id in your own app. No two customers have the same.", max_length=200, verbose_name='external id')),
                        ('email', models.EmailField(blank=True, max_length=254, verbose_name='email address')),
                        ('email_key', models.CharField(blank=True, editable=False, max_length=254)),
                        ('name', models.CharField(blank=True, max_length=200, verbose_name='name')),
                        ('vendor_ids', models.JSONField(blank=True, default=dict, verbose_name='ids at vendors')),
                        ('created_at', models.DateTimeField(default=django.utils.timezone.now, editable=False, verbose_name='created')),
                        ('updated_at', models.DateTimeField(default=django.utils.timezone.now, editable=False, verbose_name='changed')),
                        ('organization', models.ForeignKey(on_delete=django.db.models.deletion.CASCADE, related_name='customers', to='workspace.organization')),
                        ('arr', models.DecimalField(blank=True, decimal_places=2, max_digits=14, null=True, validators=[django.core.validators.MinValueValidator(Decimal('0'))], verbose_name='ARR')),
                        ('avatar', models.CharField(blank=True, max_length=2048, verbose_name='avatar')),
                        ('churned_at', models.DateTimeField(editable=False, null=True, verbose_name='churned')),
                        ('context', models.JSONField(blank=True, default=dict, verbose_name='context')),
                        ('contract_term', models.CharField(blank=True, choices=[('monthly', 'Monthly'), ('quarterly', 'Quarterly'), ('annual', 'Annual'), ('bi_annual', 'Bi-annual')], max_length=10, verbose_name='contract term')),
                        ('custom_fields', models.JSONField(blank=True, default=dict, verbose_name='custom fields')),
                        ('first_seen', models.DateTimeField(editable=False, null=True, verbose_name='first seen')),
                        ('last_contacted_at', models.DateTimeField(editable=False, null=True, verbose_name='last contacted')),
                        ('last_seen', models.DateTimeField(editable=False, null=True, verbose_name='last seen')),
                        ('lifecycle', models.CharField(choices=[('trial', 'Trial'), ('active', 'Active'), ('churned', 'Churned')], default='active', max_length=10, verbose_name='lifecycle')),
                        ('mrr', models.DecimalField(blank=True, decimal_places=2, max_digits=14, null=True, validators=[django.core.validators.MinValueValidator(Decimal('0'))], verbose_name='MRR')),
                        ('name_key', models.CharField(blank=True, editable=False, max_length=200)),
                        ('on_contract', models.BooleanField(blank=True, null=True, verbose_name='on contract')),
                        ('payment_terms', models.CharField(blank=True, choices=[('monthly', 'Monthly'), ('quarterly', 'Quarterly'), ('annual', 'Annual'), ('bi_annual', 'Bi-annual')], max_length=10, verbose_name='payment terms')),
                        ('plan', models.CharField(blank=True, max_length=100, verbose_name='plan')),
                        ('renewal_date', models.DateField(blank=True, null=True, verbose_name='renewal date')),
                        ('renewal_status', models.CharField(blank=True, choices=[('up_for_renewal', 'Up for renewal'), ('in_progress', 'In progress'), ('likely_to_renew', 'Likely to renew'), ('expansion_opportunity', 'Expansion opportunity'), ('set_to_cancel', 'Set to cancel'), ('set_to_cancel_trial', 'Set to cancel trial'), ('at_risk', 'At risk'), ('renewed', 'Renewed'), ('lost', 'Lost')], max_length=30, verbose_name='renewal status')),
                        ('role', models.CharField(blank=True, max_length=100, verbose_name='role')),
                        ('signed_up_at', models.DateTimeField(blank=True, null=True, verbose_name='signed up')),
                        ('source', models.CharField(blank=True, max_length=50, verbose_name='source')),
                        ('company', models.ForeignKey(blank=True, null=True, on_delete=django.db.models.deletion.SET_NULL, related_name='customers', to='workspace.company')),
                        ('erased_at', models.DateTimeField(editable=False, null=True)),
                    ],
                    options={
                        'verbose_name': 'customer',
                        'verbose_name_plural': 'customers',
                        'indexes': [models.Index(fields=['organization', 'email_key'], name='workspace_cust_email'), models.Index(fields=['organization', 'name_key'], name='workspace_cust_name'), models.Index(fields=['organization', '-signed_up_at', 'id'], name='workspace_cust_new'), models.Index(fields=['organization', '-mrr', 'id'], name='workspace_cust_mrr'), models.Index(fields=['organization', 'churned_at'], name='workspace_cust_churned'), models.Index(models.F('organization'), django.db.models.functions.comparison.Coalesce('signed_up_at', 'first_seen', 'created_at'), name='workspace_cust_started'), models.Index(models.F('organization'), models.F('lifecycle'), django.db.models.functions.comparison.Coalesce('signed_up_at', 'first_seen', 'created_at'), condition=models.Q(('lifecycle', 'active'), _negated=True), name='workspace_cust_lifecycle'), models.Index(models.F('organization'), models.F('renewal_status'), django.db.models.functions.comparison.Coalesce('signed_up_at', 'first_seen', 'created_at'), condition=models.Q(('renewal_status', ''), _negated=True), name='workspace_cust_renewal'), models.Index(models.F('organization'), django.db.models.functions.text.Upper('plan'), models.OrderBy(models.F('last_seen'), descending=True), models.F('id'), name='workspace_cust_plan'), models.Index(models.F('organization'), django.db.models.functions.text.Upper('role'), models.OrderBy(models.F('last_seen'), descending=True), models.F('id'), name='workspace_cust_role'), models.Index(fields=['organization', '-last_seen', 'id'], include=('plan', 'company', 'renewal_status'), name='workspace_cust_seen'), models.Index(condition=models.Q(('erased_at', None)), fields=['organization', 'plan'], name='workspace_cust_by_plan'), models.Index(condition=models.Q(('erased_at', None)), fields=['organization', 'company'], name='workspace_cust_by_company')],
                        'constraints': [models.UniqueConstraint(condition=models.Q(('external_id', ''), _negated=True), fields=('organization', 'external_id'), name='workspace_one_external_id', violation_error_message='Another customer has this external id.')],
                    },
                ),
                migrations.CreateModel(
                    name='DemoSeed',
                    fields=[
                        ('organization', models.OneToOneField(on_delete=django.db.models.deletion.CASCADE, primary_key=True, related_name='demo_seed', serialize=False, to='workspace.organization')),
                        ('size', models.CharField(max_length=10, verbose_name='size')),
                        ('as_of', models.DateTimeField(verbose_name='as of')),
                        ('parts_done', models.PositiveIntegerField(default=0, verbose_name='parts done')),
                        ('finished_at', models.DateTimeField(null=True, verbose_name='finished')),
                    ],
                    options={
                        'verbose_name': 'demo data',
                        'verbose_name_plural': 'demo data',
                    },
                ),
                migrations.CreateModel(
                    name='Conversation',
                    fields=[
                        ('id', models.CharField(default=workspace.models.conversations.new_conversation_id, editable=False, max_length=64, primary_key=True, serialize=False, verbose_name='conversation id')),
                        ('session_id', models.CharField(blank=True, max_length=200, verbose_name='session')),
                        ('mode', models.CharField(choices=[('chat', 'Chat'), ('voice', 'Voice'), ('video', 'Video'), ('livehelp', 'Live help')], default='chat', max_length=10, verbose_name='mode')),
                        ('question', models.TextField(blank=True, verbose_name='question')),
                        ('mood', models.CharField(blank=True, choices=[('happy', 'Happy'), ('neutral', 'Neutral'), ('confused', 'Confused'), ('frustrated', 'Frustrated'), ('angry', 'Angry')], max_length=12, verbose_name='mood')),
                        ('outcome', models.CharField(blank=True, choices=[('resolved', 'Resolved'), ('escalated', 'Escalated'), ('abandoned', 'Abandoned')], max_length=12, verbose_name='outcome')),
                        ('confidence', models.PositiveSmallIntegerField(blank=True, null=True, validators=[django.core.validators.MaxValueValidator(100)], verbose_name='confidence')),
                        ('score', models.PositiveSmallIntegerField(blank=True, null=True, validators=[django.core.validators.MaxValueValidator(100)], verbose_name='AI score')),
                        ('message_count', models.PositiveIntegerField(default=0, editable=False, verbose_name='messages')),
                        ('started_at', models.DateTimeField(default=django.utils.timezone.now, verbose_name='started')),
                        ('ended_at', models.DateTimeField(blank=True, null=True, verbose_name='ended')),
                        ('updated_at', models.DateTimeField(default=django.utils.timezone.now, editable=False, verbose_name='changed')),
                        ('agent', models.ForeignKey(blank=True, null=True, on_delete=django.db.models.deletion.SET_NULL, related_name='conversations', to='workspace.agent')),
                        ('company', models.ForeignKey(blank=True, null=True, on_delete=django.db.models.deletion.SET_NULL, related_name='conversations', to='workspace.company')),
                        ('customer', models.ForeignKey(blank=True, null=True, on_delete=django.db.models.deletion.SET_NULL, related_name='conversations', to='workspace.customer')),
                        ('organization', models.ForeignKey(on_delete=django.db.models.deletion.CASCADE, related_name='conversations', to='workspace.organization')),
                    ],
                    options={
                        'verbose_name': 'conversation',
                        'verbose_name_plural': 'conversations',
                        'indexes': [models.Index(fields=['customer', '-started_at', 'id'], name='workspace_conv_customer'), models.Index(fields=['company', '-started_at', 'id'], name='workspace_conv_company'), models.Index(fields=['organization', 'mood', '-started_at', 'id'], name='workspace_conv_mood'), models.Index(models.F('organization'), django.db.models.expressions.CombinedExpression(models.Case(models.When(mood='angry', then=models.Value(0)), models.When(mood='frustrated', then=models.Value(101)), models.When(mood='confused', then=models.Value(202)), output_field=models.IntegerField()), '+', django.db.models.functions.comparison.Coalesce('score', 100)), models.F('id'), condition=models.Q(('mood__in', ('angry', 'frustrated', 'confused'))), name='workspace_conv_worst'), models.Index(fields=['organization', '-started_at', 'id'], include=('outcome', 'mood', 'agent', 'company'), name='workspace_conv_new'), models.Index(fields=['organization', 'agent', 'outcome', 'mood'], name='workspace_conv_by_kind')],
                        'constraints': [models.UniqueConstraint(condition=models.Q(('session_id', ''), _negated=True), fields=('organization', 'session_id'), name='workspace_one_session')],
                    },
                ),
                migrations.CreateModel(
                    name='ConversationMessage',
                    fields=[
                        ('id', models.BigAutoField(primary_key=True, serialize=False)),
                        ('position', models.PositiveIntegerField(verbose_name='position')),
                        ('at', models.DateTimeField(default=django.utils.timezone.now, verbose_name='at')),
                        ('author_kind', models.CharField(choices=[('customer', 'Customer'), ('agent', 'AI agent'), ('teammate', 'Teammate'), ('system', 'System')], max_length=10, verbose_name='author')),
                        ('author_name', models.CharField(blank=True, max_length=200, verbose_name="author's name")),
                        ('text', models.TextField(blank=True, verbose_name='text')),
                        ('sentiment', models.FloatField(blank=True, null=True, verbose_name='sentiment')),
                        ('images', models.JSONField(blank=True, default=list, verbose_name='images')),
                        ('conversation', models.ForeignKey(on_delete=django.db.models.deletion.CASCADE, related_name='messages', to='workspace.conversation')),
                        ('organization', models.ForeignKey(db_index=False, on_delete=django.db.models.deletion.CASCADE, related_name='+', to='workspace.organization')),
                    ],
                    options={
                        'verbose_name': 'conversation message',
                        'verbose_name_plural': 'conversation messages',
                        'constraints': [models.UniqueConstraint(fields=('conversation', 'position'), name='workspace_conv_position')],
                    },
                ),
                migrations.CreateModel(
                    name='Event',
                    fields=[
                        ('id', models.BigAutoField(primary_key=True, serialize=False)),
                        ('session_id', models.CharField(blank=True, max_length=200, verbose_name='session')),
                        ('event_type', models.CharField(max_length=100, verbose_name='type')),
                        ('element_selector', models.CharField(blank=True, max_length=500, verbose_name='element')),
                        ('page_url', models.CharField(blank=True, max_length=2048, verbose_name='page')),
                        ('metadata', models.JSONField(blank=True, default=dict, verbose_name='metadata')),
                        ('dedupe_key', models.CharField(blank=True, editable=False, max_length=100)),
                        ('at', models.DateTimeField(default=django.utils.timezone.now, verbose_name='at')),
                        ('customer', models.ForeignKey(blank=True, db_index=False, null=True, on_delete=django.db.models.deletion.SET_NULL, related_name='+', to='workspace.customer')),
                        ('organization', models.ForeignKey(db_index=False, on_delete=django.db.models.deletion.CASCADE, related_name='+', to='workspace.organization')),
                    ],
                    options={
                        'verbose_name': 'event',
                        'verbose_name_plural': 'events',
                        'indexes': [models.Index(fields=['organization', 'event_type', '-at', '-id'], name='workspace_event_type'), models.Index(condition=models.Q(('customer__isnull', False)), fields=['customer', '-at', '-id'], name='workspace_event_customer'), models.Index(condition=models.Q(('session_id', ''), _negated=True), fields=['organization', 'session_id', '-at'], name='workspace_event_session'), models.Index(fields=['organization', '-at', '-id'], include=('event_type', 'customer'), name='workspace_event_new')],
                        'constraints': [models.UniqueConstraint(condition=models.Q(('dedupe_key', ''), _negated=True), fields=('organization', 'dedupe_key'), name='workspace_one_event')],
                    },
                ),
                migrations.CreateModel(
                    name='Feedback',
                    fields=[
                        ('id', models.CharField(default=workspace.models.conversations.new_feedback_id, editable=False, max_length=64, primary_key=True, serialize=False)),
                        ('position', models.PositiveIntegerField(verbose_name='message')),
                        ('rating', models.CharField(choices=[('good', 'Good'), ('bad', 'Bad')], max_length=4, verbose_name='rating')),
                        ('comment', models.TextField(blank=True, verbose_name='comment')),
                        ('given_by', models.CharField(choices=[('customer', 'Customer'), ('trainer', 'Trainer')], default='customer', max_length=10, verbose_name='given by')),
                        ('at', models.DateTimeField(default=django.utils.timezone.now, verbose_name='at')),
                        ('agent', models.ForeignKey(blank=True, null=True, on_delete=django.db.models.deletion.SET_NULL, related_name='+', to='workspace.agent')),
                        ('company', models.ForeignKey(blank=True, null=True, on_delete=django.db.models.deletion.SET_NULL, related_name='+', to='workspace.company')),
                        ('conversation', models.ForeignKey(on_delete=django.db.models.deletion.CASCADE, related_name='feedback', to='workspace.conversation')),
                        ('customer', models.ForeignKey(blank=True, null=True, on_delete=django.db.models.deletion.SET_NULL, related_name='feedback', to='workspace.customer')),
                        ('organization', models.ForeignKey(on_delete=django.db.models.deletion.CASCADE, related_name='feedback', to='workspace.organization')),
                    ],
                    options={
                        'verbose_name': 'feedback',
                        'verbose_name_plural': 'feedback',
                        'indexes': [models.Index(fields=['organization', 'rating', '-at', 'id'], name='workspace_feedback_new')],
                        'constraints': [models.UniqueConstraint(fields=('conversation', 'position', 'given_by'), name='workspace_one_rating')],
                    },
                ),
                migrations.CreateModel(
                    name='KnowledgeSource',
                    fields=[
                        ('id', models.CharField(default=workspace.models.knowledge.new_source_id, editable=False, max_length=64, primary_key=True, serialize=False, verbose_name='source id')),
                        ('kind', models.CharField(choices=[('markdown', 'Markdown'), ('html', 'HTML'), ('pdf', 'PDF'), ('docx', 'Word document'), ('url', 'Web page'), ('sitemap', 'Sitemap')], max_length=10, verbose_name='kind')),
                        ('title', models.CharField(blank=True, max_length=300, verbose_name='title')),
                        ('url', models.CharField(blank=True, max_length=2048, verbose_name='address')),
                        ('original', models.BinaryField(null=True)),
                        ('digest', models.CharField(blank=True, editable=False, max_length=64)),
                        ('status', models.CharField(choices=[('pending', 'Waiting'), ('indexing', 'Being indexed'), ('ready', 'Ready'), ('failed', 'Failed')], default='pending', editable=False, max_length=10, verbose_name='status')),
                        ('error', models.TextField(blank=True, editable=False, verbose_name='error')),
                        ('passages', models.PositiveIntegerField(default=0, editable=False, verbose_name='passages')),
                        ('created_at', models.DateTimeField(default=django.utils.timezone.now, editable=False, verbose_name='added')),
                        ('updated_at', models.DateTimeField(default=django.utils.timezone.now, editable=False, verbose_name='changed')),
                        ('indexed_at', models.DateTimeField(editable=False, null=True, verbose_name='indexed')),
                        ('added_by', models.ForeignKey(editable=False, null=True, on_delete=django.db.models.deletion.SET_NULL, related_name='+', to=settings.AUTH_USER_MODEL)),
                        ('organization', models.ForeignKey(on_delete=django.db.models.deletion.CASCADE, related_name='knowledge', to='workspace.organization')),
                    ],
                    options={
                        'verbose_name': 'knowledge source',
                        'verbose_name_plural': 'knowledge sources',
                        'indexes': [models.Index(fields=['organization', '-created_at', 'id'], name='workspace_source_new')],
                    },
                ),
                migrations.CreateModel(
                    name='KnowledgeChunk',
                    fields=[
                        ('id', models.BigAutoField(primary_key=True, serialize=False)),
                        ('position', models.PositiveIntegerField(verbose_name='position')),
                        ('title', models.CharField(blank=True, max_length=300, verbose_name='title')),
                        ('heading', models.CharField(blank=True, max_length=300, verbose_name='heading')),
                        ('url', models.CharField(blank=True, max_length=2048, verbose_name='address')),
                        ('text', models.TextField(verbose_name='text')),
                        ('embedding', models.BinaryField(null=True)),
                        ('embedder', models.CharField(blank=True, editable=False, max_length=100)),
                        ('organization', models.ForeignKey(on_delete=django.db.models.deletion.CASCADE, related_name='+', to='workspace.organization')),
                        ('source', models.ForeignKey(on_delete=django.db.models.deletion.CASCADE, related_name='chunks', to='workspace.knowledgesource')),
                    ],
                    options={
                        'verbose_name': 'passage',
                        'verbose_name_plural': 'passages',
                        'constraints': [models.UniqueConstraint(fields=('source', 'position'), name='workspace_one_passage')],
                    },
                ),
                migrations.CreateModel(
                    name='KpiSnapshot',
                    fields=[
                        ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                        ('day', models.DateField(verbose_name='day')),
                        ('metric', models.CharField(max_length=40, verbose_name='metric')),
                        ('value', models.FloatField(null=True, verbose_name='value')),
                        ('organization', models.ForeignKey(db_index=False, on_delete=django.db.models.deletion.CASCADE, related_name='+', to='workspace.organization')),
                    ],
                    options={
                        'verbose_name': 'key figure',
                        'verbose_name_plural': 'key figures',
                        'constraints': [models.UniqueConstraint(fields=('organization', 'metric', 'day'), name='workspace_one_kpi')],
                    },
                ),
                migrations.CreateModel(
                    name='Lead',
                    fields=[
                        ('id', models.CharField(default=workspace.models.customers.new_lead_id, editable=False, max_length=64, primary_key=True, serialize=False, verbose_name='lead id')),
                        ('email', models.EmailField(blank=True, max_length=254, verbose_name='email address')),
                        ('email_key', models.CharField(blank=True, editable=False, max_length=254)),
                        ('name', models.CharField(blank=True, max_length=200, verbose_name='name')),
                        ('fields', models.JSONField(blank=True, default=dict, verbose_name='fields')),
                        ('source', models.CharField(blank=True, max_length=50, verbose_name='source')),
                        ('status', models.CharField(choices=[('open', 'Open'), ('converted', 'Converted')], default='open', max_length=10, verbose_name='status')),
                        ('created_at', models.DateTimeField(default=django.utils.timezone.now, editable=False, verbose_name='created')),
                        ('converted_at', models.DateTimeField(editable=False, null=True, verbose_name='converted')),
                        ('customer', models.ForeignKey(blank=True, null=True, on_delete=django.db.models.deletion.SET_NULL, related_name='leads', to='workspace.customer')),
                        ('organization', models.ForeignKey(on_delete=django.db.models.deletion.CASCADE, related_name='leads', to='workspace.organization')),
                    ],
                    options={
                        'verbose_name': 'lead',
                        'verbose_name_plural': 'leads',
                        'indexes': [models.Index(fields=['organization', 'email_key'], name='workspace_lead_email'), models.Index(fields=['organization', '-created_at', 'id'], name='workspace_lead_new')],
                    },
                ),
                migrations.CreateModel(
                    name='Ticket',
                    fields=[
                        ('id', models.CharField(default=workspace.models.support.new_ticket_id, editable=False, max_length=64, primary_key=True, serialize=False, verbose_name='ticket id')),
                        ('subject', models.CharField(max_length=1000, verbose_name='subject')),
                        ('status', models.CharField(choices=[('open', 'Open'), ('priority', 'Priority'), ('in_progress', 'In progress'), ('snoozed', 'Snoozed'), ('resolved', 'Resolved'), ('spam', 'Spam')], default='open', max_length=20, verbose_name='status')),
                        ('priority', models.CharField(choices=[('normal', 'Normal'), ('priority', 'Priority')], default='normal', max_length=10, verbose_name='priority')),
                        ('inbox', models.CharField(blank=True, max_length=100, verbose_name='inbox')),
                        ('category', models.CharField(blank=True, max_length=100, verbose_name='category')),
                        ('source', models.CharField(default='api', max_length=50, verbose_name='source')),
                        ('metadata', models.JSONField(blank=True, default=dict, verbose_name='metadata')),
                        ('created_at', models.DateTimeField(default=django.utils.timezone.now, editable=False, verbose_name='created')),
                        ('updated_at', models.DateTimeField(default=django.utils.timezone.now, editable=False, verbose_name='changed')),
                        ('first_response_at', models.DateTimeField(editable=False, null=True, verbose_name='first response')),
                        ('resolved_at', models.DateTimeField(editable=False, null=True, verbose_name='resolved')),
                        ('message_count', models.PositiveIntegerField(default=0, editable=False, verbose_name='messages')),
                        ('last_message_at', models.DateTimeField(editable=False, null=True, verbose_name='last message')),
                        ('last_author_kind', models.CharField(blank=True, editable=False, max_length=10)),
                        ('last_author_name', models.CharField(blank=True, editable=False, max_length=200)),
                        ('assignee', models.ForeignKey(blank=True, null=True, on_delete=django.db.models.deletion.SET_NULL, related_name='+', to=settings.AUTH_USER_MODEL)),
                        ('company', models.ForeignKey(blank=True, null=True, on_delete=django.db.models.deletion.SET_NULL, related_name='tickets', to='workspace.company')),
                        ('conversation', models.ForeignKey(blank=True, null=True, on_delete=django.db.models.deletion.SET_NULL, related_name='tickets', to='workspace.conversation')),
                        ('customer', models.ForeignKey(blank=True, null=True, on_delete=django.db.models.deletion.SET_NULL, related_name='tickets', to='workspace.customer')),
                        ('organization', models.ForeignKey(on_delete=django.db.models.deletion.CASCADE, related_name='tickets', to='workspace.organization')),
                        ('external_id', models.CharField(blank=True, db_default='', default='', max_length=200, verbose_name='external id')),
                    ],
                    options={
                        'verbose_name': 'ticket',
                        'verbose_name_plural': 'tickets',
                        'indexes': [models.Index(fields=['organization', '-updated_at', 'id'], name='workspace_tkt_changed'), models.Index(fields=['organization', '-resolved_at', 'id'], name='workspace_tkt_resolved'), models.Index(fields=['organization', 'status', '-created_at', 'id'], name='workspace_tkt_status'), models.Index(fields=['customer', '-created_at', 'id'], name='workspace_tkt_customer'), models.Index(fields=['company', '-created_at', 'id'], name='workspace_tkt_company'), models.Index(models.F('organization'), django.db.models.functions.text.Upper('category'), models.OrderBy(models.F('created_at'), descending=True), models.F('id'), name='workspace_tkt_category'), models.Index(fields=['organization', '-created_at', 'id'], include=('status', 'priority', 'category', 'assignee', 'company'), name='workspace_tkt_new'), models.Index(fields=['organization', 'status', 'priority', 'category', 'assignee'], name='workspace_tkt_by_kind'), models.Index(fields=['organization', 'status', 'company'], name='workspace_tkt_by_company')],
                        'constraints': [models.UniqueConstraint(condition=models.Q(('external_id', ''), _negated=True), fields=('organization', 'external_id'), name='workspace_one_ticket_external_id', violation_error_message='Another ticket has this external id.')],
                    },
                ),
                migrations.CreateModel(
                    name='TicketMessage',
                    fields=[
                        ('id', models.BigAutoField(primary_key=True, serialize=False)),
                        ('position', models.PositiveIntegerField(verbose_name='position')),
                        ('at', models.DateTimeField(default=django.utils.timezone.now, verbose_name='at')),
                        ('author_kind', models.CharField(choices=[('customer', 'Customer'), ('agent', 'AI agent'), ('teammate', 'Teammate'), ('system', 'System')], max_length=10, verbose_name='author')),
                        ('author_name', models.CharField(blank=True, max_length=200, verbose_name="author's name")),
                        ('text', models.TextField(blank=True, verbose_name='text')),
                        ('heading', models.CharField(blank=True, editable=False, max_length=1000)),
                        ('is_internal', models.BooleanField(default=False, verbose_name='internal note')),
                        ('organization', models.ForeignKey(db_index=False, on_delete=django.db.models.deletion.CASCADE, related_name='+', to='workspace.organization')),
                        ('ticket', models.ForeignKey(on_delete=django.db.models.deletion.CASCADE, related_name='messages', to='workspace.ticket')),
                    ],
                    options={
                        'verbose_name': 'ticket message',
                        'verbose_name_plural': 'ticket messages',
                        'constraints': [models.UniqueConstraint(fields=('ticket', 'position'), name='workspace_tkt_position')],
                    },
                ),
                migrations.CreateModel(
                    name='KnowledgeIndex',
                    fields=[
                        ('organization', models.OneToOneField(on_delete=django.db.models.deletion.CASCADE, primary_key=True, related_name='+', serialize=False, to='workspace.organization')),
                        ('version', models.UUIDField()),
                    ],
                ),
                migrations.CreateModel(
                    name='DataImport',
                    fields=[
                        ('id', models.CharField(default=workspace.models.imports.new_import_id, editable=False, max_length=64, primary_key=True, serialize=False, verbose_name='import id')),
                        ('kind', models.CharField(choices=[('customers', 'Customers'), ('companies', 'Companies'), ('tickets', 'Tickets')], max_length=10, verbose_name='what it contains')),
                        ('file_name', models.CharField(blank=True, max_length=255, verbose_name='file')),
                        ('content', models.BinaryField(null=True)),
                        ('status', models.CharField(choices=[('uploaded', 'Waiting to be checked'), ('checking', 'Being checked'), ('ready', 'Ready to import'), ('refused', 'Refused'), ('confirmed', 'Waiting to be imported'), ('importing', 'Being imported'), ('done', 'Imported'), ('failed', 'Failed'), ('expired', 'Expired')], default='uploaded', editable=False, max_length=10, verbose_name='status')),
                        ('rows', models.PositiveIntegerField(default=0, editable=False, verbose_name='rows')),
                        ('done', models.PositiveIntegerField(default=0, editable=False, verbose_name='rows done')),
                        ('added', models.PositiveIntegerField(default=0, editable=False, verbose_name='new')),
                        ('changed', models.PositiveIntegerField(default=0, editable=False, verbose_name='changed')),
                        ('unchanged', models.PositiveIntegerField(default=0, editable=False, verbose_name='unchanged')),
                        ('refused', models.PositiveIntegerField(default=0, editable=False, verbose_name='refused')),
                        ('problem_count', models.PositiveIntegerField(default=0, editable=False)),
                        ('problems', models.JSONField(blank=True, default=list, editable=False)),
                        ('preview', models.JSONField(blank=True, default=dict, editable=False)),
                        ('created_at', models.DateTimeField(default=django.utils.timezone.now, editable=False, verbose_name='uploaded')),
                        ('updated_at', models.DateTimeField(default=django.utils.timezone.now, editable=False, verbose_name='changed at')),
                        ('confirmed_by', models.ForeignKey(editable=False, null=True, on_delete=django.db.models.deletion.SET_NULL, related_name='+', to=settings.AUTH_USER_MODEL)),
                        ('organization', models.ForeignKey(on_delete=django.db.models.deletion.CASCADE, related_name='imports', to='workspace.organization')),
                        ('uploaded_by', models.ForeignKey(editable=False, null=True, on_delete=django.db.models.deletion.SET_NULL, related_name='+', to=settings.AUTH_USER_MODEL)),
                        ('attempts', models.PositiveSmallIntegerField(default=0, editable=False)),
                    ],
                    options={
                        'verbose_name': 'import',
                        'verbose_name_plural': 'imports',
                        'indexes': [models.Index(fields=['organization', '-created_at', 'id'], name='workspace_import_new'), models.Index(fields=['status', 'updated_at'], name='workspace_import_status')],
                    },
                ),
                migrations.CreateModel(
                    name='Erasure',
                    fields=[
                        ('id', models.UUIDField(default=foundation.ids.uuid7, editable=False, primary_key=True, serialize=False)),
                        ('customer_id', models.CharField(max_length=64, verbose_name='customer id')),
                        ('names', models.JSONField(default=dict, editable=False)),
                        ('actor', models.CharField(max_length=254, verbose_name='by')),
                        ('user_id', models.CharField(blank=True, max_length=64)),
                        ('address', models.CharField(blank=True, max_length=64)),
                        ('counts', models.JSONField(default=dict, verbose_name='counts')),
                        ('begun_at', models.DateTimeField(default=django.utils.timezone.now, verbose_name='begun')),
                        ('finished_at', models.DateTimeField(null=True, verbose_name='finished')),
                        ('organization', models.ForeignKey(on_delete=django.db.models.deletion.CASCADE, related_name='+', to='workspace.organization')),
                    ],
                    options={
                        'verbose_name': 'erasure',
                        'verbose_name_plural': 'erasures',
                        'indexes': [models.Index(condition=models.Q(('finished_at__isnull', True)), fields=['begun_at'], name='workspace_erasure_open')],
                        'constraints': [models.UniqueConstraint(fields=('organization', 'customer_id'), name='workspace_one_erasure')],
                    },
                ),
            ]
        ),
        migrations.RunPython(_search.create_full_text, _search.drop_full_text),
        migrations.RunPython(_search.create_trigrams, _search.drop_trigrams),
    ]

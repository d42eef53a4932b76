import django.db.models.deletion
import django.utils.timezone
import foundation.ids
import gateway.models
from django.conf import settings
from django.db import migrations, models

from foundation.db.create_models import CreateModels


class Migration(migrations.Migration):

    replaces = [('gateway', '0001_initial'), ('gateway', '0002_import_drafts')]

    initial = True

    dependencies = [
        ('workspace', '0002_squashed_tables'),
    ]

    operations = [
        CreateModels(
            [
                migrations.CreateModel(
                    name='ApproverGroup',
                    fields=[
                        ('id', models.UUIDField(default=foundation.ids.uuid7, editable=False, primary_key=True, serialize=False)),
                        ('name', models.CharField(max_length=150, verbose_name='name')),
                        ('organization', models.ForeignKey(on_delete=django.db.models.deletion.CASCADE, related_name='approver_groups', to='workspace.organization')),
                        ('members', models.ManyToManyField(blank=True, related_name='+', to=settings.AUTH_USER_MODEL, verbose_name='members')),
                    ],
                    options={
                        'verbose_name': 'approver group',
                        'verbose_name_plural': 'approver groups',
                        'ordering': ('name',),
                        'constraints': [models.UniqueConstraint(fields=('organization', 'name'), name='gateway_group_name')],
                    },
                ),
                migrations.CreateModel(
                    name='MonthlyUsage',
                    fields=[
                        ('id', models.UUIDField(default=foundation.ids.uuid7, editable=False, primary_key=True, serialize=False)),
                        ('month', models.DateField(verbose_name='month')),
                        ('calls', models.PositiveBigIntegerField(default=0, verbose_name='calls')),
                        ('warned_at', models.PositiveSmallIntegerField(default=0, editable=False)),
                        ('organization', models.ForeignKey(on_delete=django.db.models.deletion.CASCADE, related_name='+', to='workspace.organization')),
                    ],
                    options={
                        'verbose_name': 'monthly usage',
                        'verbose_name_plural': 'monthly usage',
                        'constraints': [models.UniqueConstraint(fields=('organization', 'month'), name='gateway_usage_of_month')],
                    },
                ),
                migrations.CreateModel(
                    name='Plan',
                    fields=[
                        ('id', models.UUIDField(default=foundation.ids.uuid7, editable=False, primary_key=True, serialize=False)),
                        ('monthly_calls', models.PositiveBigIntegerField(blank=True, help_text='Empty: no limit.', null=True, verbose_name='calls a month')),
                        ('organization', models.OneToOneField(on_delete=django.db.models.deletion.CASCADE, related_name='gateway_plan', to='workspace.organization')),
                    ],
                    options={
                        'verbose_name': 'plan',
                        'verbose_name_plural': 'plans',
                    },
                ),
                migrations.CreateModel(
                    name='Project',
                    fields=[
                        ('id', models.CharField(default=gateway.models.project_id, editable=False, max_length=26, primary_key=True, serialize=False)),
                        ('name', models.CharField(max_length=150, verbose_name='name')),
                        ('target_url', models.CharField(max_length=500, verbose_name='target URL')),
                        ('document_url', models.CharField(blank=True, max_length=500, verbose_name='address of the document')),
                        ('authentication', models.CharField(choices=[('none', 'None'), ('project', 'One credential for the project'), ('person', 'A credential of each person')], default='none', max_length=20, verbose_name='authentication')),
                        ('reads', models.CharField(choices=[('allow', 'Allow'), ('require_approval', 'Require approval'), ('deny', 'Deny')], default='allow', max_length=20, verbose_name='reads (GET and HEAD)')),
                        ('writes', models.CharField(choices=[('allow', 'Allow'), ('require_approval', 'Require approval'), ('deny', 'Deny')], default='require_approval', max_length=20, verbose_name='everything else')),
                        ('self_approval', models.BooleanField(default=False, verbose_name='requesters may approve their own requests')),
                        ('approval_minutes', models.PositiveIntegerField(default=1440, verbose_name='minutes to approve')),
                        ('version', models.PositiveIntegerField(default=1, editable=False)),
                        ('created_at', models.DateTimeField(default=django.utils.timezone.now, editable=False, verbose_name='created')),
                        ('updated_at', models.DateTimeField(auto_now=True, verbose_name='changed')),
                        ('organization', models.ForeignKey(on_delete=django.db.models.deletion.CASCADE, related_name='projects', to='workspace.organization')),
                        ('owner', models.ForeignKey(null=True, on_delete=django.db.models.deletion.SET_NULL, related_name='+', to=settings.AUTH_USER_MODEL, verbose_name='owner')),
                    ],
                    options={
                        'verbose_name': 'project',
                        'verbose_name_plural': 'projects',
                        'ordering': ('name', 'id'),
                        'constraints': [models.UniqueConstraint(fields=('organization', 'name'), name='gateway_project_name')],
                    },
                ),
                migrations.CreateModel(
                    name='PolicyRule',
                    fields=[
                        ('id', models.UUIDField(default=foundation.ids.uuid7, editable=False, primary_key=True, serialize=False)),
                        ('position', models.PositiveIntegerField(verbose_name='position')),
                        ('pattern', models.CharField(max_length=100, verbose_name='tools')),
                        ('conditions', models.JSONField(blank=True, default=list, verbose_name='conditions')),
                        ('effect', models.CharField(choices=[('allow', 'Allow'), ('require_approval', 'Require approval'), ('deny', 'Deny')], max_length=20, verbose_name='effect')),
                        ('approver_roles', models.JSONField(blank=True, default=list, verbose_name='roles of approvers')),
                        ('project', models.ForeignKey(on_delete=django.db.models.deletion.CASCADE, related_name='rules', to='gateway.project')),
                        ('approver_groups', models.ManyToManyField(blank=True, related_name='+', to='gateway.approvergroup', verbose_name='groups of approvers')),
                        ('approvers', models.ManyToManyField(blank=True, related_name='+', to=settings.AUTH_USER_MODEL, verbose_name='approvers')),
                    ],
                    options={
                        'verbose_name': 'policy rule',
                        'verbose_name_plural': 'policy rules',
                        'ordering': ('position', 'id'),
                        'indexes': [models.Index(fields=['project', 'position'], name='gateway_rule_order')],
                    },
                ),
                migrations.CreateModel(
                    name='ProjectDocument',
                    fields=[
                        ('id', models.UUIDField(default=foundation.ids.uuid7, editable=False, primary_key=True, serialize=False)),
                        ('version', models.PositiveIntegerField(editable=False)),
                        ('text', models.TextField(editable=False)),
                        ('sha256', models.CharField(editable=False, max_length=64)),
                        ('created_at', models.DateTimeField(default=django.utils.timezone.now, editable=False, verbose_name='imported')),
                        ('imported_by', models.ForeignKey(null=True, on_delete=django.db.models.deletion.SET_NULL, related_name='+', to=settings.AUTH_USER_MODEL)),
                        ('project', models.ForeignKey(on_delete=django.db.models.deletion.CASCADE, related_name='documents', to='gateway.project')),
                    ],
                    options={
                        'verbose_name': 'OpenAPI document',
                        'verbose_name_plural': 'OpenAPI documents',
                        'ordering': ('-id',),
                        'constraints': [models.UniqueConstraint(fields=('project', 'version'), name='gateway_document_version')],
                    },
                ),
                migrations.CreateModel(
                    name='ProjectTool',
                    fields=[
                        ('id', models.UUIDField(default=foundation.ids.uuid7, editable=False, primary_key=True, serialize=False)),
                        ('name', models.CharField(max_length=64, verbose_name='tool')),
                        ('key', models.CharField(max_length=500, verbose_name='operation')),
                        ('operation', models.JSONField(editable=False)),
                        ('fingerprint', models.CharField(editable=False, max_length=64)),
                        ('is_enabled', models.BooleanField(default=True, verbose_name='enabled')),
                        ('is_present', models.BooleanField(default=True, editable=False, verbose_name='in the document')),
                        ('is_read', models.BooleanField(default=False, help_text='Has the policy of reads, whatever its method is.', verbose_name='only reads')),
                        ('needs_review', models.BooleanField(default=False, verbose_name='changed, waits for review')),
                        ('updated_at', models.DateTimeField(auto_now=True, verbose_name='changed')),
                        ('project', models.ForeignKey(on_delete=django.db.models.deletion.CASCADE, related_name='tools', to='gateway.project')),
                        ('review_notes', models.JSONField(default=list, editable=False)),
                    ],
                    options={
                        'verbose_name': 'project tool',
                        'verbose_name_plural': 'project tools',
                        'ordering': ('name',),
                        'constraints': [models.UniqueConstraint(fields=('project', 'name'), name='gateway_tool_name'), models.UniqueConstraint(fields=('project', 'key'), name='gateway_tool_key')],
                    },
                ),
                migrations.CreateModel(
                    name='UpstreamCredential',
                    fields=[
                        ('id', models.UUIDField(default=foundation.ids.uuid7, editable=False, primary_key=True, serialize=False)),
                        ('scheme', models.CharField(max_length=200, verbose_name='security scheme')),
                        ('sealed', models.BinaryField()),
                        ('state', models.CharField(choices=[('untested', 'Not tested'), ('works', 'Works'), ('refused', 'Refused by the API')], default='untested', max_length=20, verbose_name='state')),
                        ('expires_at', models.DateTimeField(editable=False, null=True, verbose_name='expires')),
                        ('updated_at', models.DateTimeField(auto_now=True, verbose_name='changed')),
                        ('project', models.ForeignKey(on_delete=django.db.models.deletion.CASCADE, related_name='credentials', to='gateway.project')),
                        ('user', models.ForeignKey(null=True, on_delete=django.db.models.deletion.CASCADE, related_name='+', to=settings.AUTH_USER_MODEL)),
                    ],
                    options={
                        'verbose_name': 'upstream credential',
                        'verbose_name_plural': 'upstream credentials',
                        'constraints': [models.UniqueConstraint(fields=('project', 'user', 'scheme'), name='gateway_credential_of_user'), models.UniqueConstraint(condition=models.Q(('user__isnull', True)), fields=('project', 'scheme'), name='gateway_credential_of_project')],
                    },
                ),
                migrations.CreateModel(
                    name='ImportDraft',
                    fields=[
                        ('id', models.UUIDField(default=foundation.ids.uuid7, editable=False, primary_key=True, serialize=False)),
                        ('fields', models.JSONField(default=dict)),
                        ('text', models.TextField()),
                        ('created_at', models.DateTimeField(default=django.utils.timezone.now, editable=False)),
                        ('organization', models.ForeignKey(on_delete=django.db.models.deletion.CASCADE, related_name='+', to='workspace.organization')),
                        ('project', models.ForeignKey(null=True, on_delete=django.db.models.deletion.CASCADE, related_name='+', to='gateway.project')),
                        ('user', models.ForeignKey(on_delete=django.db.models.deletion.CASCADE, related_name='+', to=settings.AUTH_USER_MODEL)),
                    ],
                ),
            ]
        ),
    ]

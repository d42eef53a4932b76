import django.db.models.deletion
import django.utils.timezone
import foundation.ids
import oauth2_provider.generators
import uuid
from django.conf import settings
from django.db import migrations, models

from foundation.db.create_models import CreateModels


class Migration(migrations.Migration):

    replaces = [('oauth', '0001_initial'), ('oauth', '0002_sealed_reply'), ('oauth', '0003_remembered_consent'), ('oauth', '0004_drop_single_token_revocation'), ('oauth', '0005_remove_obsolete_scopes'), ('oauth', '0006_repeated_consent'), ('oauth', '0007_server_keys'), ('oauth', '0008_mcp_tokens'), ('oauth', '0009_key_kinds'), ('oauth', '0010_agent_keys')]

    initial = True

    dependencies = [
        ('workspace', '0002_squashed_tables'),
    ]

    operations = [
        CreateModels(
            [
                migrations.CreateModel(
                    name='Client',
                    fields=[
                        ('client_id', models.CharField(db_index=True, default=oauth2_provider.generators.generate_client_id, max_length=255, unique=True, verbose_name='client ID')),
                        ('name', models.CharField(blank=True, max_length=255, verbose_name='name')),
                        ('created', models.DateTimeField(auto_now_add=True, verbose_name='created')),
                        ('updated', models.DateTimeField(auto_now=True, verbose_name='updated')),
                        ('registration_source', models.CharField(choices=[('manual', 'Manual'), ('dcr', 'Dynamic Client Registration'), ('cimd', 'Client ID Metadata Document')], default='manual', help_text='How this application was registered (manual, DCR per RFC 7591, or CIMD)', max_length=32, verbose_name='registration source')),
                        ('cimd_expires_at', models.DateTimeField(blank=True, default=None, help_text='When the cached Client ID Metadata Document should be re-fetched', null=True, verbose_name='CIMD expires at')),
                        ('id', models.UUIDField(default=foundation.ids.uuid7, editable=False, primary_key=True, serialize=False)),
                        ('redirect_uris', models.JSONField(default=list, verbose_name='redirect URIs')),
                        ('auth_method', models.CharField(choices=[('none', 'public, no secret'), ('client_secret_basic', 'secret in the Authorization header'), ('client_secret_post', 'secret in the form')], default='none', max_length=30, verbose_name='authentication')),
                        ('secret_sha256', models.CharField(blank=True, editable=False, max_length=64)),
                        ('is_native', models.BooleanField(default=False, verbose_name="runs on the person's device")),
                        ('scope', models.TextField(blank=True, verbose_name='registered scope')),
                        ('metadata', models.JSONField(default=dict, editable=False, verbose_name='what it says of itself')),
                        ('registered_from', models.CharField(blank=True, max_length=64, verbose_name='registered from')),
                        ('disabled_at', models.DateTimeField(blank=True, help_text='Set: every token of this client is refused on the next request.', null=True, verbose_name='disabled')),
                        ('first_token_at', models.DateTimeField(editable=False, null=True, verbose_name='first token')),
                        ('user', models.ForeignKey(blank=True, null=True, on_delete=django.db.models.deletion.CASCADE, related_name='%(app_label)s_%(class)s', to=settings.AUTH_USER_MODEL, verbose_name='user')),
                    ],
                    options={
                        'verbose_name': 'client',
                        'verbose_name_plural': 'clients',
                        'abstract': False,
                        'indexes': [models.Index(condition=models.Q(('first_token_at__isnull', True)), fields=['created'], name='oauth_client_unused')],
                    },
                ),
                migrations.CreateModel(
                    name='Authorization',
                    fields=[
                        ('id', models.UUIDField(default=foundation.ids.uuid7, editable=False, primary_key=True, serialize=False)),
                        ('scope', models.TextField(verbose_name='scope')),
                        ('resource', models.CharField(max_length=500, verbose_name='resource')),
                        ('created_at', models.DateTimeField(default=django.utils.timezone.now, editable=False, verbose_name='given')),
                        ('revoked_at', models.DateTimeField(blank=True, editable=False, null=True, verbose_name='revoked')),
                        ('revoke_reason', models.CharField(blank=True, editable=False, max_length=60, verbose_name='why')),
                        ('membership', models.ForeignKey(null=True, on_delete=django.db.models.deletion.SET_NULL, related_name='authorizations', to='workspace.membership')),
                        ('organization', models.ForeignKey(on_delete=django.db.models.deletion.CASCADE, related_name='authorizations', to='workspace.organization')),
                        ('user', models.ForeignKey(on_delete=django.db.models.deletion.CASCADE, related_name='authorizations', to=settings.AUTH_USER_MODEL)),
                        ('client', models.ForeignKey(on_delete=django.db.models.deletion.CASCADE, related_name='authorizations', to=settings.OAUTH2_PROVIDER_APPLICATION_MODEL)),
                    ],
                    options={
                        'verbose_name': 'authorization',
                        'verbose_name_plural': 'authorizations',
                        'ordering': ('-id',),
                    },
                ),
                migrations.CreateModel(
                    name='AuthorizationRequest',
                    fields=[
                        ('id', models.UUIDField(default=foundation.ids.uuid7, editable=False, primary_key=True, serialize=False)),
                        ('session_sha256', models.CharField(max_length=64)),
                        ('redirect_uri', models.TextField()),
                        ('state', models.TextField(null=True)),
                        ('scope', models.TextField()),
                        ('resource', models.CharField(max_length=500)),
                        ('code_challenge', models.CharField(max_length=43)),
                        ('created_at', models.DateTimeField(default=django.utils.timezone.now)),
                        ('expires_at', models.DateTimeField()),
                        ('decided_at', models.DateTimeField(null=True)),
                        ('user', models.ForeignKey(on_delete=django.db.models.deletion.CASCADE, related_name='+', to=settings.AUTH_USER_MODEL)),
                        ('client', models.ForeignKey(on_delete=django.db.models.deletion.CASCADE, related_name='+', to=settings.OAUTH2_PROVIDER_APPLICATION_MODEL)),
                        ('authorization', models.ForeignKey(null=True, on_delete=django.db.models.deletion.SET_NULL, related_name='+', to='oauth.authorization')),
                        ('outcome', models.CharField(blank=True, choices=[('approved', 'approved'), ('cancelled', 'cancelled')], max_length=10)),
                        ('sealed_code', models.BinaryField(null=True)),
                    ],
                    options={
                        'verbose_name': 'authorization request',
                        'verbose_name_plural': 'authorization requests',
                        'indexes': [models.Index(fields=['expires_at'], name='oauth_request_expiry'), models.Index(condition=models.Q(('sealed_code__isnull', False)), fields=['decided_at'], name='oauth_request_sealed')],
                    },
                ),
                migrations.CreateModel(
                    name='Grant',
                    fields=[
                        ('expires', models.DateTimeField(verbose_name='expires')),
                        ('redirect_uri', models.TextField(verbose_name='redirect URI')),
                        ('created', models.DateTimeField(auto_now_add=True, verbose_name='created')),
                        ('id', models.UUIDField(default=foundation.ids.uuid7, editable=False, primary_key=True, serialize=False)),
                        ('code', models.CharField(editable=False, max_length=64, unique=True)),
                        ('code_challenge', models.CharField(editable=False, max_length=43)),
                        ('consumed_at', models.DateTimeField(editable=False, null=True, verbose_name='consumed')),
                        ('authorization', models.ForeignKey(on_delete=django.db.models.deletion.CASCADE, related_name='grants', to='oauth.authorization')),
                    ],
                    options={
                        'verbose_name': 'authorization code',
                        'verbose_name_plural': 'authorization codes',
                        'abstract': False,
                        'indexes': [models.Index(fields=['expires'], name='oauth_grant_expiry')],
                    },
                ),
                migrations.CreateModel(
                    name='IDToken',
                    fields=[
                        ('id', models.BigAutoField(primary_key=True, serialize=False)),
                        ('jti', models.UUIDField(default=uuid.uuid4, editable=False, unique=True, verbose_name='JWT Token ID')),
                        ('expires', models.DateTimeField(verbose_name='expires')),
                        ('scope', models.TextField(blank=True, verbose_name='scope')),
                        ('created', models.DateTimeField(auto_now_add=True, verbose_name='created')),
                        ('updated', models.DateTimeField(auto_now=True, verbose_name='updated')),
                        ('application', models.ForeignKey(blank=True, null=True, on_delete=django.db.models.deletion.CASCADE, to=settings.OAUTH2_PROVIDER_APPLICATION_MODEL, verbose_name='application')),
                        ('user', models.ForeignKey(blank=True, null=True, on_delete=django.db.models.deletion.CASCADE, related_name='%(app_label)s_%(class)s', to=settings.AUTH_USER_MODEL, verbose_name='user')),
                    ],
                    options={
                        'verbose_name': 'ID token',
                        'verbose_name_plural': 'ID tokens',
                        'abstract': False,
                    },
                ),
                migrations.CreateModel(
                    name='RefreshToken',
                    fields=[
                        ('created', models.DateTimeField(auto_now_add=True, verbose_name='created')),
                        ('id', models.UUIDField(default=foundation.ids.uuid7, editable=False, primary_key=True, serialize=False)),
                        ('token_checksum', models.CharField(editable=False, max_length=64, unique=True)),
                        ('scope', models.TextField(verbose_name='scope')),
                        ('used_at', models.DateTimeField(editable=False, null=True, verbose_name='used')),
                        ('authorization', models.ForeignKey(on_delete=django.db.models.deletion.CASCADE, related_name='refresh_tokens', to='oauth.authorization')),
                        ('sealed_reply', models.BinaryField(null=True)),
                    ],
                    options={
                        'verbose_name': 'refresh token',
                        'verbose_name_plural': 'refresh tokens',
                        'indexes': [models.Index(condition=models.Q(('sealed_reply__isnull', False)), fields=['used_at'], name='oauth_refresh_sealed')],
                    },
                ),
                migrations.CreateModel(
                    name='AccessToken',
                    fields=[
                        ('expires', models.DateTimeField(verbose_name='expires')),
                        ('scope', models.TextField(blank=True, verbose_name='scope')),
                        ('created', models.DateTimeField(auto_now_add=True, verbose_name='created')),
                        ('id', models.UUIDField(default=foundation.ids.uuid7, editable=False, primary_key=True, serialize=False)),
                        ('token_checksum', models.CharField(editable=False, max_length=64, unique=True)),
                        ('authorization', models.ForeignKey(on_delete=django.db.models.deletion.CASCADE, related_name='access_tokens', to='oauth.authorization')),
                    ],
                    options={
                        'verbose_name': 'access token',
                        'verbose_name_plural': 'access tokens',
                        'abstract': False,
                        'indexes': [models.Index(fields=['expires'], name='oauth_access_expiry')],
                    },
                ),
                migrations.CreateModel(
                    name='RememberedConsent',
                    fields=[
                        ('id', models.UUIDField(default=foundation.ids.uuid7, editable=False, primary_key=True, serialize=False)),
                        ('redirect_uri', models.TextField(editable=False)),
                        ('scope', models.TextField(editable=False)),
                        ('circumstances_sha256', models.CharField(editable=False, max_length=64)),
                        ('expires_at', models.DateTimeField(editable=False)),
                        ('authorization', models.OneToOneField(editable=False, on_delete=django.db.models.deletion.CASCADE, related_name='remembered', to='oauth.authorization')),
                    ],
                    options={
                        'verbose_name': 'remembered consent',
                        'verbose_name_plural': 'remembered consents',
                        'indexes': [models.Index(fields=['expires_at'], name='oauth_remembered_expiry')],
                    },
                ),
                migrations.CreateModel(
                    name='ServerKey',
                    fields=[
                        ('id', models.UUIDField(default=foundation.ids.uuid7, editable=False, primary_key=True, serialize=False)),
                        ('name', models.CharField(max_length=100, verbose_name='name')),
                        ('checksum', models.CharField(editable=False, max_length=64, unique=True)),
                        ('ending', models.CharField(editable=False, max_length=4, verbose_name='ends with')),
                        ('scope', models.CharField(max_length=500, verbose_name='scope')),
                        ('created_at', models.DateTimeField(default=django.utils.timezone.now, editable=False, verbose_name='created')),
                        ('expires_at', models.DateTimeField(blank=True, null=True, verbose_name='expires')),
                        ('last_used_at', models.DateTimeField(editable=False, null=True, verbose_name='last used')),
                        ('revoked_at', models.DateTimeField(editable=False, null=True, verbose_name='revoked')),
                        ('created_by', models.ForeignKey(null=True, on_delete=django.db.models.deletion.SET_NULL, related_name='+', to=settings.AUTH_USER_MODEL, verbose_name='created by')),
                        ('organization', models.ForeignKey(on_delete=django.db.models.deletion.CASCADE, related_name='server_keys', to='workspace.organization')),
                        ('kind', models.CharField(choices=[('sdk', 'SDK API'), ('live', 'HR API'), ('test', 'HR API, sandbox'), ('agents', 'Agents')], db_default='sdk', default='sdk', max_length=10, verbose_name='API')),
                    ],
                    options={
                        'verbose_name': 'server key',
                        'verbose_name_plural': 'server keys',
                        'ordering': ('-id',),
                    },
                ),
                migrations.CreateModel(
                    name='McpToken',
                    fields=[
                        ('id', models.UUIDField(default=foundation.ids.uuid7, editable=False, primary_key=True, serialize=False)),
                        ('resource_path', models.CharField(editable=False, max_length=100, verbose_name='resource')),
                        ('name', models.CharField(max_length=100, verbose_name='name')),
                        ('checksum', models.CharField(editable=False, max_length=64, unique=True)),
                        ('ending', models.CharField(editable=False, max_length=4, verbose_name='ends with')),
                        ('created_at', models.DateTimeField(default=django.utils.timezone.now, editable=False, verbose_name='created')),
                        ('expires_at', models.DateTimeField(blank=True, null=True, verbose_name='expires')),
                        ('last_used_at', models.DateTimeField(editable=False, null=True, verbose_name='last used')),
                        ('revoked_at', models.DateTimeField(editable=False, null=True, verbose_name='revoked')),
                        ('membership', models.ForeignKey(null=True, on_delete=django.db.models.deletion.SET_NULL, related_name='+', to='workspace.membership')),
                        ('organization', models.ForeignKey(on_delete=django.db.models.deletion.CASCADE, related_name='mcp_tokens', to='workspace.organization')),
                        ('user', models.ForeignKey(on_delete=django.db.models.deletion.CASCADE, related_name='mcp_tokens', to=settings.AUTH_USER_MODEL)),
                    ],
                    options={
                        'verbose_name': 'MCP token',
                        'verbose_name_plural': 'MCP tokens',
                        'ordering': ('-id',),
                    },
                ),
            ]
        ),
    ]

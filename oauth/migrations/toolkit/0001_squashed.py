import django.db.models.deletion
import oauth2_provider.generators
import oauth2_provider.models
import uuid
from django.conf import settings
from django.db import migrations, models

from foundation.db.create_models import CreateModels


class Migration(migrations.Migration):

    replaces = [('oauth2_provider', '0001_initial'), ('oauth2_provider', '0002_auto_20190406_1805'), ('oauth2_provider', '0003_auto_20201211_1314'), ('oauth2_provider', '0004_auto_20200902_2022'), ('oauth2_provider', '0005_auto_20211222_2352'), ('oauth2_provider', '0006_alter_application_client_secret'), ('oauth2_provider', '0007_application_post_logout_redirect_uris'), ('oauth2_provider', '0008_alter_accesstoken_token'), ('oauth2_provider', '0009_add_hash_client_secret'), ('oauth2_provider', '0010_application_allowed_origins'), ('oauth2_provider', '0011_refreshtoken_token_family'), ('oauth2_provider', '0012_add_token_checksum'), ('oauth2_provider', '0013_alter_application_authorization_grant_type_device'), ('oauth2_provider', '0014_alter_help_text'), ('oauth2_provider', '0015_refreshtoken_token_checksum'), ('oauth2_provider', '0016_alter_devicegrant_scope'), ('oauth2_provider', '0017_application_dcr_created'), ('oauth2_provider', '0018_resource_indicators'), ('oauth2_provider', '0019_application_registration_source'), ('oauth2_provider', '0020_cimd_application_fields'), ('oauth2_provider', '0021_translatable_field_labels'), ('oauth2_provider', '0022_refreshtoken_token_family_index')]

    initial = True

    dependencies = [
        ('oauth', '0001_squashed'),
    ]

    operations = [
        CreateModels(
            [
                migrations.CreateModel(
                    name='Application',
                    fields=[
                        ('id', models.BigAutoField(primary_key=True, serialize=False)),
                        ('client_id', models.CharField(db_index=True, default=oauth2_provider.generators.generate_client_id, max_length=255, unique=True, verbose_name='client ID')),
                        ('redirect_uris', models.TextField(blank=True, help_text='Allowed URIs list, space separated', verbose_name='redirect URIs')),
                        ('client_type', models.CharField(choices=[('confidential', 'Confidential'), ('public', 'Public')], max_length=32, verbose_name='client type')),
                        ('authorization_grant_type', models.CharField(choices=[('authorization-code', 'Authorization code'), ('urn:ietf:params:oauth:grant-type:device_code', 'Device Code'), ('implicit', 'Implicit'), ('password', 'Resource owner password-based'), ('client-credentials', 'Client credentials'), ('openid-hybrid', 'OpenID connect hybrid')], max_length=44, verbose_name='authorization grant type')),
                        ('client_secret', oauth2_provider.models.ClientSecretField(blank=True, db_index=True, default=oauth2_provider.generators.generate_client_secret, help_text='Client secret for authentication', max_length=255, verbose_name='client secret')),
                        ('name', models.CharField(blank=True, max_length=255, verbose_name='name')),
                        ('user', models.ForeignKey(blank=True, null=True, on_delete=django.db.models.deletion.CASCADE, related_name='%(app_label)s_%(class)s', to=settings.AUTH_USER_MODEL, verbose_name='user')),
                        ('skip_authorization', models.BooleanField(default=False, verbose_name='skip authorization')),
                        ('created', models.DateTimeField(auto_now_add=True, verbose_name='created')),
                        ('updated', models.DateTimeField(auto_now=True, verbose_name='updated')),
                        ('algorithm', models.CharField(blank=True, choices=[('', 'No OIDC support'), ('RS256', 'RSA with SHA-2 256'), ('HS256', 'HMAC with SHA-2 256')], default='', max_length=5, verbose_name='algorithm')),
                        ('post_logout_redirect_uris', models.TextField(blank=True, default='', help_text='Allowed Post Logout URIs list, space separated', verbose_name='post logout redirect URIs')),
                        ('hash_client_secret', models.BooleanField(default=True, verbose_name='hash client secret')),
                        ('allowed_origins', models.TextField(blank=True, default='', help_text='Allowed origins list to enable CORS, space separated', verbose_name='allowed origins')),
                        ('registration_source', models.CharField(choices=[('manual', 'Manual'), ('dcr', 'Dynamic Client Registration'), ('cimd', 'Client ID Metadata Document')], default='manual', help_text='How this application was registered (manual, DCR per RFC 7591, or CIMD)', max_length=32, verbose_name='registration source')),
                        ('cimd_expires_at', models.DateTimeField(blank=True, default=None, help_text='When the cached Client ID Metadata Document should be re-fetched', null=True, verbose_name='CIMD expires at')),
                    ],
                    options={
                        'abstract': False,
                        'swappable': 'OAUTH2_PROVIDER_APPLICATION_MODEL',
                    },
                ),
                migrations.CreateModel(
                    name='AccessToken',
                    fields=[
                        ('id', models.BigAutoField(primary_key=True, serialize=False)),
                        ('token', models.TextField(verbose_name='token')),
                        ('expires', models.DateTimeField(verbose_name='expires')),
                        ('scope', models.TextField(blank=True, verbose_name='scope')),
                        ('application', models.ForeignKey(blank=True, null=True, on_delete=django.db.models.deletion.CASCADE, to=settings.OAUTH2_PROVIDER_APPLICATION_MODEL, verbose_name='application')),
                        ('user', models.ForeignKey(blank=True, null=True, on_delete=django.db.models.deletion.CASCADE, related_name='%(app_label)s_%(class)s', to=settings.AUTH_USER_MODEL, verbose_name='user')),
                        ('created', models.DateTimeField(auto_now_add=True, verbose_name='created')),
                        ('updated', models.DateTimeField(auto_now=True, verbose_name='updated')),
                        ('source_refresh_token', models.OneToOneField(blank=True, null=True, on_delete=django.db.models.deletion.SET_NULL, related_name='refreshed_access_token', to=settings.OAUTH2_PROVIDER_REFRESH_TOKEN_MODEL, verbose_name='source refresh token')),
                        ('id_token', models.OneToOneField(blank=True, null=True, on_delete=django.db.models.deletion.CASCADE, related_name='access_token', to=settings.OAUTH2_PROVIDER_ID_TOKEN_MODEL, verbose_name='ID token')),
                        ('token_checksum', oauth2_provider.models.TokenChecksumField(db_index=True, max_length=64, unique=True, verbose_name='token checksum')),
                        ('resource', oauth2_provider.models.ResourceJSONField(blank=True, default=list, verbose_name='resource')),
                    ],
                    options={
                        'abstract': False,
                        'swappable': 'OAUTH2_PROVIDER_ACCESS_TOKEN_MODEL',
                    },
                ),
                migrations.CreateModel(
                    name='Grant',
                    fields=[
                        ('id', models.BigAutoField(primary_key=True, serialize=False)),
                        ('code', models.CharField(max_length=255, unique=True, verbose_name='code')),
                        ('expires', models.DateTimeField(verbose_name='expires')),
                        ('redirect_uri', models.TextField(verbose_name='redirect URI')),
                        ('scope', models.TextField(blank=True, verbose_name='scope')),
                        ('application', models.ForeignKey(on_delete=django.db.models.deletion.CASCADE, to=settings.OAUTH2_PROVIDER_APPLICATION_MODEL, verbose_name='application')),
                        ('user', models.ForeignKey(on_delete=django.db.models.deletion.CASCADE, related_name='%(app_label)s_%(class)s', to=settings.AUTH_USER_MODEL, verbose_name='user')),
                        ('created', models.DateTimeField(auto_now_add=True, verbose_name='created')),
                        ('updated', models.DateTimeField(auto_now=True, verbose_name='updated')),
                        ('code_challenge', models.CharField(blank=True, default='', max_length=128, verbose_name='code challenge')),
                        ('code_challenge_method', models.CharField(blank=True, choices=[('plain', 'plain'), ('S256', 'S256')], default='', max_length=10, verbose_name='code challenge method')),
                        ('nonce', models.CharField(blank=True, default='', max_length=255, verbose_name='nonce')),
                        ('claims', models.TextField(blank=True, verbose_name='claims')),
                        ('resource', oauth2_provider.models.ResourceJSONField(blank=True, default=list, verbose_name='resource')),
                    ],
                    options={
                        'abstract': False,
                        'swappable': 'OAUTH2_PROVIDER_GRANT_MODEL',
                    },
                ),
                migrations.CreateModel(
                    name='RefreshToken',
                    fields=[
                        ('id', models.BigAutoField(primary_key=True, serialize=False)),
                        ('token', models.TextField(verbose_name='token')),
                        ('access_token', models.OneToOneField(blank=True, null=True, on_delete=django.db.models.deletion.SET_NULL, related_name='refresh_token', to=settings.OAUTH2_PROVIDER_ACCESS_TOKEN_MODEL, verbose_name='access token')),
                        ('application', models.ForeignKey(on_delete=django.db.models.deletion.CASCADE, to=settings.OAUTH2_PROVIDER_APPLICATION_MODEL, verbose_name='application')),
                        ('user', models.ForeignKey(on_delete=django.db.models.deletion.CASCADE, related_name='%(app_label)s_%(class)s', to=settings.AUTH_USER_MODEL, verbose_name='user')),
                        ('created', models.DateTimeField(auto_now_add=True, verbose_name='created')),
                        ('updated', models.DateTimeField(auto_now=True, verbose_name='updated')),
                        ('revoked', models.DateTimeField(null=True, verbose_name='revoked')),
                        ('token_family', models.UUIDField(blank=True, editable=False, null=True, verbose_name='token family')),
                        ('token_checksum', oauth2_provider.models.TokenChecksumField(max_length=64, verbose_name='token checksum')),
                        ('resource', oauth2_provider.models.ResourceJSONField(blank=True, default=list, verbose_name='resource')),
                    ],
                    options={
                        'abstract': False,
                        'swappable': 'OAUTH2_PROVIDER_REFRESH_TOKEN_MODEL',
                        'unique_together': {('token_checksum', 'revoked')},
                        'indexes': [models.Index(fields=['token_family'], name='oauth2_prov_token_f_996e8a_idx')],
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
                        'abstract': False,
                        'swappable': 'OAUTH2_PROVIDER_ID_TOKEN_MODEL',
                    },
                ),
                migrations.CreateModel(
                    name='DeviceGrant',
                    fields=[
                        ('id', models.BigAutoField(primary_key=True, serialize=False)),
                        ('device_code', models.CharField(max_length=100, verbose_name='device code')),
                        ('user_code', models.CharField(max_length=100, verbose_name='user code')),
                        ('scope', models.TextField(blank=True, verbose_name='scope')),
                        ('interval', models.IntegerField(default=5, verbose_name='interval')),
                        ('expires', models.DateTimeField(verbose_name='expires')),
                        ('status', models.CharField(blank=True, choices=[('authorized', 'Authorized'), ('authorization-pending', 'Authorization pending'), ('expired', 'Expired'), ('denied', 'Denied')], default='authorization-pending', max_length=64, verbose_name='status')),
                        ('client_id', models.CharField(db_index=True, max_length=100, verbose_name='client ID')),
                        ('last_checked', models.DateTimeField(auto_now=True, verbose_name='last checked')),
                        ('user', models.ForeignKey(blank=True, null=True, on_delete=django.db.models.deletion.CASCADE, related_name='%(app_label)s_%(class)s', to=settings.AUTH_USER_MODEL, verbose_name='user')),
                    ],
                    options={
                        'abstract': False,
                        'swappable': 'OAUTH2_PROVIDER_DEVICE_GRANT_MODEL',
                        'constraints': [models.UniqueConstraint(fields=('device_code',), name='oauth2_provider_devicegrant_unique_device_code')],
                    },
                ),
            ]
        ),
    ]

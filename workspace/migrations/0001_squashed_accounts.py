"""Users. Other applications' migrations depend on this one, and run before the next one."""

import django.db.models.functions.text
import django.utils.timezone
import foundation.ids
from django.db import migrations, models


class Migration(migrations.Migration):

    replaces = [
        ('workspace', '0001_squashed_users'),
        ('workspace', '0006_programs'),
    ]

    initial = True

    dependencies = [
        ('auth', '0012_alter_user_first_name_max_length'),
    ]

    operations = [
        migrations.CreateModel(
            name='User',
            fields=[
                ('password', models.CharField(max_length=128, verbose_name='password')),
                ('last_login', models.DateTimeField(blank=True, null=True, verbose_name='last login')),
                ('is_superuser', models.BooleanField(default=False, help_text='Designates that this user has all permissions without explicitly assigning them.', verbose_name='superuser status')),
                ('id', models.UUIDField(default=foundation.ids.uuid7, editable=False, primary_key=True, serialize=False)),
                ('email', models.EmailField(max_length=254, unique=True, verbose_name='email address')),
                ('name', models.CharField(blank=True, max_length=150, verbose_name='name')),
                ('is_staff', models.BooleanField(default=False, verbose_name='may open the admin')),
                ('is_active', models.BooleanField(default=True, help_text='Switching this off stops every token of this person on the next request.', verbose_name='active')),
                ('date_joined', models.DateTimeField(default=django.utils.timezone.now, editable=False, verbose_name='joined')),
                ('session_generation', models.PositiveIntegerField(default=0, editable=False, help_text='Raised to end every session of this person that is open.')),
                ('groups', models.ManyToManyField(blank=True, help_text='The groups this user belongs to. A user will get all permissions granted to each of their groups.', related_name='user_set', related_query_name='user', to='auth.group', verbose_name='groups')),
                ('user_permissions', models.ManyToManyField(blank=True, help_text='Specific permissions for this user.', related_name='user_set', related_query_name='user', to='auth.permission', verbose_name='user permissions')),
                ('is_program', models.BooleanField(db_default=False, default=False, editable=False, verbose_name='is a program')),
            ],
            options={
                'verbose_name': 'user',
                'verbose_name_plural': 'users',
                'constraints': [models.UniqueConstraint(django.db.models.functions.text.Lower('email'), name='workspace_user_email_any_case')],
            },
        ),
    ]

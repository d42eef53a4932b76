import django.core.validators
import django.db.models.deletion
from django.db import migrations, models


class Migration(migrations.Migration):
    dependencies = (("agents", "0006_turns_outlive_sessions"),)

    operations = (
        migrations.AlterField(
            "sessionturn", "key_id", models.UUIDField(verbose_name="API key")
        ),
        migrations.AlterField(
            "sessionturn",
            "organization",
            models.ForeignKey(
                on_delete=django.db.models.deletion.CASCADE,
                related_name="+",
                to="workspace.organization",
                verbose_name="organization",
            ),
        ),
        migrations.AlterField(
            "sessionturn",
            "session",
            models.ForeignKey(
                null=True,
                on_delete=django.db.models.deletion.SET_NULL,
                related_name="turns",
                to="agents.session",
                verbose_name="session",
            ),
        ),
        migrations.AddIndex(
            "sessionturn",
            models.Index(fields=("organization", "started_at"), name="agents_turns_of_day"),
        ),
        migrations.AddField(
            "agentdefinition",
            "daily_budget",
            models.DecimalField(
                blank=True,
                decimal_places=2,
                help_text="No turn of it begins once this is used up, until 00:00 UTC.",
                max_digits=12,
                null=True,
                validators=[django.core.validators.MinValueValidator(0)],
                verbose_name="budget of a day, USD",
            ),
        ),
        migrations.AddField(
            "agentdefinition",
            "language_model",
            models.ForeignKey(
                blank=True,
                help_text="None for the one that the agents of the organization use.",
                null=True,
                on_delete=django.db.models.deletion.SET_NULL,
                related_name="+",
                to="agents.languagemodel",
                verbose_name="language model",
            ),
        ),
        migrations.AlterField(
            "languagemodel",
            "is_used",
            models.BooleanField(
                default=True,
                help_text="By all that have no model of their own. An organization has one such model.",
                verbose_name="used by the agents",
            ),
        ),
    )

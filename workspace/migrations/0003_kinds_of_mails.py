from django.db import migrations, models


class Migration(migrations.Migration):
    dependencies = [
        ("workspace", "0002_squashed_tables"),
    ]

    operations = [
        migrations.AlterField(
            model_name="outgoingmail",
            name="kind",
            field=models.CharField(
                choices=[
                    ("approval", "Request for approval"),
                    ("time_off", "Request for time off"),
                    ("credential", "Missing credential"),
                    ("second_step", "Two-step verification was reset"),
                ],
                max_length=20,
                verbose_name="kind",
            ),
        ),
    ]

from django.db import migrations, models

import workspace.models.people


class Migration(migrations.Migration):
    dependencies = [
        ("people", "0002_half_public_holidays"),
    ]

    operations = [
        migrations.AddField(
            model_name="referenceitem",
            name="time_zone",
            field=models.CharField(
                blank=True,
                db_default="",
                default="",
                help_text="Of a work place. Empty: that of the organization.",
                max_length=64,
                validators=[workspace.models.people.validate_time_zone],
                verbose_name="time zone",
            ),
        ),
    ]

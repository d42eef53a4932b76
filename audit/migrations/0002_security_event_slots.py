from django.db import migrations, models


class Migration(migrations.Migration):
    dependencies = [("audit", "0001_initial")]

    operations = [
        migrations.AddField(
            model_name="securityevent",
            name="slot",
            field=models.PositiveSmallIntegerField(default=0, verbose_name="slot"),
        ),
        migrations.AlterField(
            model_name="securityevent",
            name="detail",
            field=models.CharField(blank=True, max_length=500, verbose_name="detail"),
        ),
        migrations.RemoveConstraint(model_name="securityevent", name="audit_one_event_a_minute"),
        migrations.AddConstraint(
            model_name="securityevent",
            constraint=models.UniqueConstraint(
                fields=("kind", "minute", "address_prefix", "subject", "slot"),
                name="audit_one_event_per_slot_and_minute",
            ),
        ),
    ]

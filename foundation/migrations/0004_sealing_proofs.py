import django.utils.timezone
from django.db import migrations, models


class Migration(migrations.Migration):
    dependencies = [("foundation", "0003_scheduled_tasks")]
    operations = [
        migrations.CreateModel(
            name="SealingProof",
            fields=[
                ("key_id", models.CharField(max_length=16, primary_key=True, serialize=False)),
                ("sealed", models.BinaryField()),
                ("created_at", models.DateTimeField(default=django.utils.timezone.now)),
            ],
        ),
    ]

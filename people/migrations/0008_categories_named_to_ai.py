from django.db import migrations, models


class Migration(migrations.Migration):
    dependencies = [
        ("people", "0007_indexes_of_people"),
    ]

    operations = [
        migrations.AddField(
            model_name="timeoffcategory",
            name="is_named_to_ai",
            field=models.BooleanField(
                db_default=False,
                default=False,
                help_text="AI clients are answered the name. Of a category without an allowance, they are also answered the absences. Not for sickness.",
                verbose_name="named to AI clients",
            ),
        ),
    ]

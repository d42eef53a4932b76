"""The row that `/readyz` writes, to know whether the database can be written to."""

from django.db import migrations


class Migration(migrations.Migration):
    dependencies = [("foundation", "0001_squashed")]
    operations = [
        migrations.RunSQL(
            "CREATE TABLE foundation_readiness"
            " (id integer NOT NULL PRIMARY KEY, written bigint NOT NULL)",
            "DROP TABLE foundation_readiness",
        )
    ]

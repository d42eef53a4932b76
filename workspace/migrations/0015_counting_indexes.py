"""Small indexes by which rows are counted, for groups of all customers, tickets or conversations.

With a column of few different values, PostgreSQL stores each value once; an index that includes
columns next to the newest rows (0012) is as large as half of the table.
"""

from django.db import migrations, models


class Migration(migrations.Migration):

    dependencies = [
        ('workspace', '0014_sandboxes'),
    ]

    operations = [
        migrations.AddIndex(
            model_name='conversation',
            index=models.Index(fields=['organization', 'agent', 'outcome', 'mood'], name='workspace_conv_by_kind'),
        ),
        migrations.AddIndex(
            model_name='customer',
            index=models.Index(condition=models.Q(('erased_at', None)), fields=['organization', 'plan'], name='workspace_cust_by_plan'),
        ),
        migrations.AddIndex(
            model_name='customer',
            index=models.Index(condition=models.Q(('erased_at', None)), fields=['organization', 'company'], name='workspace_cust_by_company'),
        ),
        migrations.AddIndex(
            model_name='ticket',
            index=models.Index(fields=['organization', 'status', 'priority', 'category', 'assignee'], name='workspace_tkt_by_kind'),
        ),
        migrations.AddIndex(
            model_name='ticket',
            index=models.Index(fields=['organization', 'status', 'company'], name='workspace_tkt_by_company'),
        ),
    ]

"""Columns by which rows are counted, in the indexes of the newest rows.

PostgreSQL then counts without reading the rows; SQLite has no such indexes and gets the same as before.
"""

from django.db import migrations, models


class Migration(migrations.Migration):

    dependencies = [
        ('workspace', '0011_data_tool_indexes'),
    ]

    operations = [
        migrations.RemoveIndex(
            model_name='conversation',
            name='workspace_conv_new',
        ),
        migrations.RemoveIndex(
            model_name='customer',
            name='workspace_cust_seen',
        ),
        migrations.RemoveIndex(
            model_name='event',
            name='workspace_event_new',
        ),
        migrations.RemoveIndex(
            model_name='ticket',
            name='workspace_tkt_new',
        ),
        migrations.AddIndex(
            model_name='conversation',
            index=models.Index(fields=['organization', '-started_at', 'id'], include=('outcome', 'mood', 'agent', 'company'), name='workspace_conv_new'),
        ),
        migrations.AddIndex(
            model_name='customer',
            index=models.Index(fields=['organization', '-last_seen', 'id'], include=('plan', 'company', 'renewal_status'), name='workspace_cust_seen'),
        ),
        migrations.AddIndex(
            model_name='event',
            index=models.Index(fields=['organization', '-at', '-id'], include=('event_type', 'customer'), name='workspace_event_new'),
        ),
        migrations.AddIndex(
            model_name='ticket',
            index=models.Index(fields=['organization', '-created_at', 'id'], include=('status', 'priority', 'category', 'assignee', 'company'), name='workspace_tkt_new'),
        ),
    ]

from django.db import migrations, models

from foundation.db.add_index import AddIndexOnline


class Migration(migrations.Migration):

    # PostgreSQL adds no index within a transaction while rows are written.
    atomic = False

    dependencies = [
        ('workspace', '0016_erased_names'),
    ]

    operations = [
        AddIndexOnline(
            model_name='customer',
            index=models.Index(condition=models.Q(('erased_at', None)), fields=['organization', 'plan', 'lifecycle'], name='workspace_cust_plans'),
        ),
        AddIndexOnline(
            model_name='customer',
            index=models.Index(condition=models.Q(('erased_at', None)), fields=['organization', 'company', 'lifecycle'], name='workspace_cust_companies'),
        ),
        AddIndexOnline(
            model_name='customer',
            index=models.Index(fields=['organization', 'renewal_date', 'id'], name='workspace_cust_renewals'),
        ),
        AddIndexOnline(
            model_name='conversation',
            index=models.Index(fields=['organization', 'score', 'id'], name='workspace_conv_score'),
        ),
    ]

"""What was carried over is calculated: entries of the nightly task are marked as replaced.

The task wrote entries without a note, which nobody changed and no history names. They are replaced
unless the category carried another number of days at most when they were written: then they stay,
so that what was carried stays as it was. Years before the first entry of a category stay too.
"""

from datetime import date

from django.db import migrations
from django.db.models import Max, Min
from django.utils import timezone

CARRY_OVER = "carry_over"


def mark_entries(apps, schema_editor):  # noqa: ARG001  Django's signature
    entries = apps.get_model("people", "LedgerEntry").objects
    histories = apps.get_model("admin", "LogEntry").objects.filter(
        content_type__app_label="people", content_type__model="ledgerentry"
    )
    written = entries.filter(entry_type=CARRY_OVER, version=1, note="").exclude(
        pk__in=histories.exclude(object_id=None).values("object_id")
    )
    settings = apps.get_model("people", "TimeOffSettings").objects
    begins = {
        own: (month, day)
        for own, month, day in settings.values_list("organization", "reset_month", "reset_day")
    }
    for category in apps.get_model("people", "TimeOffCategory").objects.filter(carried_from=None):
        of_category = written.filter(category=category.pk)
        days = of_category.order_by().values("effective_date")
        for found in days.annotate(most=Max("amount_days")):
            of_day = of_category.filter(effective_date=found["effective_date"])
            if not had_another_limit(of_day, found["most"], category.carry_over_days):
                of_day.update(is_replaced=True)
        first = days.aggregate(first=Min("effective_date"))["first"]
        category.carried_from = first or find_first_day(
            category, *begins.get(category.organization_id, (1, 1))
        )
        category.save(update_fields=["carried_from"])


def had_another_limit(of_day, most, limit):
    """Whether entries have more than the limit, or several have the same most days below it."""
    return most > limit or (most < limit and of_day.filter(amount_days=most).count() > 1)


def find_first_day(category, month, day):
    """The first day of the present leave year if days are carried, else the present day."""
    today = timezone.localdate()
    if not category.carry_over_days:
        return today
    begins = date(today.year, month, day)
    return begins if begins <= today else date(today.year - 1, month, day)


class Migration(migrations.Migration):
    dependencies = [
        ("people", "0011_carry_over"),
        ("admin", "0003_logentry_add_action_flag_choices"),
        ("contenttypes", "0002_remove_content_type_name"),
    ]

    operations = [
        migrations.RunPython(mark_entries, migrations.RunPython.noop),
    ]

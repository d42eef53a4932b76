"""The holidays of each organization become its default calendar."""

from django.db import migrations

from foundation import ids

NAME = "Public holidays"


def create_default_calendars(apps, schema_editor):  # noqa: ARG001  Django's signature
    calendars = apps.get_model("people", "HolidayCalendar").objects
    holidays = apps.get_model("people", "PublicHoliday").objects.filter(calendar=None)
    settings = apps.get_model("people", "TimeOffSettings").objects
    countries = dict(settings.values_list("organization_id", "country_code"))
    organizations = list(holidays.order_by().values_list("organization_id", flat=True).distinct())
    for organization_id in organizations:
        calendar = calendars.create(
            id=ids.reference("cal_"),
            organization_id=organization_id,
            name=NAME,
            country_code=countries.get(organization_id, ""),
            is_default=True,
        )
        holidays.filter(organization_id=organization_id).update(calendar=calendar)


class Migration(migrations.Migration):
    dependencies = [
        ("people", "0004_holiday_calendars"),
    ]

    operations = [
        migrations.RunPython(create_default_calendars, migrations.RunPython.noop),
    ]

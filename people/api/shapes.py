"""The resources of the HR API: people, organization, reference data, documents."""

from typing import Any

from drf_spectacular.utils import extend_schema_field
from rest_framework import serializers

from people import employment, key_limits, models
from people.api.fields import NullText, ResourceSerializer
from people.api.time_off_shapes import LeaveYearSerializer
from people.employment import EmploymentState


class IdentifiedSerializer(ResourceSerializer):
    id = serializers.CharField()


class KeyLimitSerializer(ResourceSerializer):
    """The unit or work place whose people a key sees."""

    type = serializers.ChoiceField([key_limits.UNIT, key_limits.WORK_PLACE])
    id = serializers.CharField()
    name = serializers.CharField(allow_null=True, help_text="null if it is not there any more.")


class KeySerializer(ResourceSerializer):
    key_id = serializers.CharField()
    scopes = serializers.ListField(child=serializers.CharField())
    limited_to = KeyLimitSerializer(allow_null=True, help_text="null if it sees everybody.")


class EnvironmentSerializer(ResourceSerializer):
    type = serializers.ChoiceField(["live", "sandbox"])
    sandbox = serializers.BooleanField()


class ActorSerializer(ResourceSerializer):
    type = serializers.ChoiceField(["api_key"])
    key_id = serializers.CharField()


class PrincipalSerializer(ResourceSerializer):
    """The key of the request, and what it may do."""

    organization_field = IdentifiedSerializer(help_text="The organization of the key.")
    api_key = KeySerializer()
    environment = EnvironmentSerializer()
    actor = ActorSerializer()
    today = serializers.DateField(help_text="In the time zone of the organization.")
    time_zone = serializers.CharField(help_text="IANA name.")
    leave_year = LeaveYearSerializer(help_text="The leave year of today.")

    def get_fields(self) -> dict[str, Any]:
        fields = super().get_fields()
        return {"organisation": fields.pop("organization_field"), **fields}


class OrganisationSerializer(ResourceSerializer):
    id = serializers.CharField()
    name = serializers.CharField()
    subdomain = serializers.CharField()
    country = NullText()
    time_zone = serializers.CharField(help_text="IANA name.")
    plan = serializers.CharField()
    logo_url = NullText()
    primary_color_light = NullText()
    primary_color_dark = NullText()
    created_at = serializers.DateTimeField()
    updated_at = serializers.DateTimeField()


class NamedSerializer(ResourceSerializer):
    id = serializers.CharField(source="pk")
    name = serializers.CharField()


class LabelledSerializer(ResourceSerializer):
    id = serializers.CharField(source="pk")
    label = serializers.CharField()


class PersonNameSerializer(ResourceSerializer):
    """Somebody whom a record names. Needs `visible_people` as context: null for others."""

    id = serializers.CharField(source="pk")
    display_name = serializers.CharField()

    def to_representation(self, instance: models.Person) -> Any:
        visible = self.context["visible_people"]
        is_visible = visible is None or instance.pk in visible
        return super().to_representation(instance) if is_visible else None


class WorkingTimeSerializer(ResourceSerializer):
    """Fields that depend on the minutes of a full-time week."""

    full_time_weekly_minutes = serializers.SerializerMethodField()
    fte = serializers.SerializerMethodField()

    @extend_schema_field({"type": "integer", "nullable": True})
    def get_full_time_weekly_minutes(self, _row: models.people.Employment) -> int:
        minutes: int = self.context["full_time"]
        return minutes

    @extend_schema_field({"type": "number", "nullable": True})
    def get_fte(self, row: models.people.Employment) -> float | None:
        """The contracted part of a full-time week."""
        full_time = self.context["full_time"]
        contracted = row.contracted_weekly_minutes
        return round(contracted / full_time, 4) if contracted is not None and full_time else None


class PersonSerializer(WorkingTimeSerializer):
    id = serializers.CharField(source="pk")
    work_email = NullText()
    first_name = NullText()
    preferred_name = NullText()
    last_name = NullText()
    display_name = serializers.CharField()
    staff_id = NullText()
    job_title = NullText()
    department = NamedSerializer(allow_null=True)
    manager = PersonNameSerializer(allow_null=True)
    work_place = LabelledSerializer(allow_null=True)
    work_type = LabelledSerializer(allow_null=True)
    working_pattern = LabelledSerializer(allow_null=True)
    contracted_weekly_minutes = serializers.IntegerField(allow_null=True)
    status = NullText(source="status.label")
    employment_status = serializers.SerializerMethodField()
    start_date = serializers.DateField(allow_null=True)
    end_date = serializers.DateField(allow_null=True)
    created_at = serializers.DateTimeField()
    updated_at = serializers.DateTimeField()

    @extend_schema_field({"type": "string", "enum": EmploymentState.values})
    def get_employment_status(self, row: models.Person) -> str:
        """Whether the person is employed today, in the time zone of the organization."""
        return str(employment.get_state(row, self.context["today"]))


class ReportSerializer(ResourceSerializer):
    """A person below a manager; who is whose manager makes the tree."""

    id = serializers.CharField(source="pk")
    display_name = serializers.CharField()
    job_title = NullText()
    manager_id = serializers.CharField()
    direct_reports = serializers.IntegerField(help_text="Those who are employed.")


class ReportTotalsSerializer(ResourceSerializer):
    direct_reports = serializers.IntegerField()
    all_levels = serializers.IntegerField()


class StateCountsSerializer(ResourceSerializer):
    """How many people are in each state on the day of the count."""

    employed = serializers.IntegerField()
    left = serializers.IntegerField(help_text="Their last day was before.")
    not_started = serializers.IntegerField(help_text="Their first day is after.")


class PeopleGroupSerializer(StateCountsSerializer):
    id = serializers.CharField(allow_null=True, help_text="null for people without any.")
    name = serializers.CharField(allow_null=True)


class PeopleCountSerializer(StateCountsSerializer):
    day = serializers.DateField()
    groups = PeopleGroupSerializer(many=True, help_text="Those with most employed people first.")
    more_groups = serializers.IntegerField(help_text="How many groups are not listed.")


class DepartmentSerializer(ResourceSerializer):
    id = serializers.CharField(source="pk")
    label = serializers.CharField(source="name")


class EmploymentSerializer(WorkingTimeSerializer):
    """What a person is employed as now."""

    person_id = serializers.CharField(source="pk")
    timeline_version = serializers.IntegerField(source="version")
    job_title = NullText()
    department = DepartmentSerializer(allow_null=True)
    manager = PersonNameSerializer(allow_null=True)
    work_place = LabelledSerializer(allow_null=True)
    work_type = LabelledSerializer(allow_null=True)
    working_pattern = LabelledSerializer(allow_null=True)
    contracted_weekly_minutes = serializers.IntegerField(allow_null=True)
    start_date = serializers.DateField(allow_null=True)
    end_date = serializers.DateField(allow_null=True)
    updated_at = serializers.DateTimeField()


class EmploymentRecordSerializer(EmploymentSerializer):
    """What a person was employed as from one day on."""

    id = serializers.CharField(source="pk")
    person_id = serializers.CharField()
    effective_from = serializers.DateField()
    created_at = serializers.DateTimeField()


class LinkedUnitSerializer(ResourceSerializer):
    id = serializers.CharField(source="pk")
    type = serializers.CharField()
    name = serializers.CharField()
    code = NullText()
    archived_at = serializers.DateTimeField(allow_null=True)


class LinkSerializer(ResourceSerializer):
    """What memberships and relationships have in common. `effective_to` is exclusive."""

    id = serializers.CharField(source="pk")
    is_primary = serializers.BooleanField()
    is_current = serializers.SerializerMethodField()
    effective_from = serializers.DateField()
    effective_to = serializers.DateField(allow_null=True)
    created_at = serializers.DateTimeField()
    updated_at = serializers.DateTimeField()

    def get_is_current(self, row: Any) -> bool:
        today = self.context["today"]
        ended = row.effective_to is not None and row.effective_to <= today
        return bool(row.effective_from <= today and not ended)


class MembershipSerializer(LinkSerializer):
    person_id = serializers.CharField()
    org_unit = LinkedUnitSerializer(source="unit")
    role = serializers.CharField()


class RelationshipSerializer(LinkSerializer):
    type = serializers.CharField()
    related_person = PersonNameSerializer()


class OrgLinksSerializer(ResourceSerializer):
    person_id = serializers.CharField(source="pk")
    memberships = MembershipSerializer(many=True, source="unit_memberships.all")
    relationships = RelationshipSerializer(many=True, source="relationships.all")


class HomeAddressSerializer(ResourceSerializer):
    address_line_1 = NullText()
    address_line_2 = NullText()
    address_line_3 = NullText()
    city = NullText()
    region_state = NullText()
    postal_code = NullText()
    country = NullText(source="country_code")


class PersonalProfileSerializer(ResourceSerializer):
    """The private part of a record; pay, bank, tax and notes are in no answer."""

    middle_names = NullText()
    date_of_birth = serializers.DateField(allow_null=True)
    personal_email = NullText()
    personal_phone_number = NullText()
    work_phone_number = NullText()
    home_address = HomeAddressSerializer(source="*")
    updated_at = serializers.DateTimeField()


class CustomValueSerializer(ResourceSerializer):
    key = serializers.CharField(source="field.key")
    label = serializers.CharField(source="field.label")
    field_type = serializers.CharField(source="field.field_type")
    sensitivity = serializers.CharField(source="field.sensitivity")
    value = serializers.CharField()


class OrgUnitSerializer(ResourceSerializer):
    id = serializers.CharField(source="pk")
    type = serializers.CharField()
    name = serializers.CharField()
    code = NullText()
    description = NullText()
    parent = NamedSerializer(allow_null=True)
    active_from = serializers.DateField(allow_null=True)
    active_to = serializers.DateField(allow_null=True)
    is_archived = serializers.SerializerMethodField()
    archived_at = serializers.DateTimeField(allow_null=True)
    created_at = serializers.DateTimeField()
    updated_at = serializers.DateTimeField()

    def get_is_archived(self, row: Any) -> bool:
        return row.archived_at is not None


class LocationSerializer(ResourceSerializer):
    id = serializers.CharField(source="pk")
    name = serializers.CharField(source="label")
    is_active = serializers.BooleanField()
    time_zone = NullText(help_text="IANA name; null if it is that of the organization.")
    holiday_calendar = NamedSerializer(allow_null=True, help_text="null if it is the default.")


class WorkingPatternSerializer(ResourceSerializer):
    id = serializers.CharField(source="pk")
    label = serializers.CharField()
    monday = serializers.IntegerField(help_text="Minutes.")
    tuesday = serializers.IntegerField()
    wednesday = serializers.IntegerField()
    thursday = serializers.IntegerField()
    friday = serializers.IntegerField()
    saturday = serializers.IntegerField()
    sunday = serializers.IntegerField()
    weekly_minutes = serializers.IntegerField()
    updated_at = serializers.DateTimeField()


class DocumentSerializer(ResourceSerializer):
    """The description of a file; the file and its link are in no answer."""

    id = serializers.CharField(source="pk")
    name = serializers.CharField(help_text="The file name.")
    person_id = serializers.CharField()
    category = NullText(source="category.label")
    content_type = NullText()
    size_bytes = serializers.IntegerField(allow_null=True)
    created_at = serializers.DateTimeField()
    updated_at = serializers.DateTimeField()

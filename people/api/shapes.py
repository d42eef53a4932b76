"""The resources of the HR API: people, organization, reference data, documents."""

from typing import Any

from drf_spectacular.utils import extend_schema_field
from rest_framework import serializers

from people import models
from people.api.fields import NullText, Shape


class Identified(Shape):
    id = serializers.CharField()


class Key(Shape):
    key_id = serializers.CharField()
    scopes = serializers.ListField(child=serializers.CharField())


class Environment(Shape):
    type = serializers.ChoiceField(["live", "sandbox"])
    sandbox = serializers.BooleanField()


class Actor(Shape):
    type = serializers.ChoiceField(["api_key"])
    key_id = serializers.CharField()


class Principal(Shape):
    """The key of the request, and what it may do."""

    organization_field = Identified(help_text="The organization of the key.")
    api_key = Key()
    environment = Environment()
    actor = Actor()

    def get_fields(self) -> dict[str, Any]:
        fields = super().get_fields()
        return {"organisation": fields.pop("organization_field"), **fields}


class Organisation(Shape):
    id = serializers.CharField()
    name = serializers.CharField()
    subdomain = serializers.CharField()
    country = NullText()
    plan = serializers.CharField()
    logo_url = NullText()
    primary_color_light = NullText()
    primary_color_dark = NullText()
    created_at = serializers.DateTimeField()
    updated_at = serializers.DateTimeField()


class Named(Shape):
    id = serializers.CharField(source="pk")
    name = serializers.CharField()


class Labelled(Shape):
    id = serializers.CharField(source="pk")
    label = serializers.CharField()


class PersonName(Shape):
    id = serializers.CharField(source="pk")
    display_name = serializers.CharField()


class WorkingTime(Shape):
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


class Person(WorkingTime):
    id = serializers.CharField(source="pk")
    work_email = NullText()
    first_name = NullText()
    preferred_name = NullText()
    last_name = NullText()
    display_name = serializers.CharField()
    staff_id = NullText()
    job_title = NullText()
    department = Named(allow_null=True)
    manager = PersonName(allow_null=True)
    work_place = Labelled(allow_null=True)
    work_type = Labelled(allow_null=True)
    working_pattern = Labelled(allow_null=True)
    contracted_weekly_minutes = serializers.IntegerField(allow_null=True)
    status = NullText(source="status.label")
    start_date = serializers.DateField(allow_null=True)
    end_date = serializers.DateField(allow_null=True)
    created_at = serializers.DateTimeField()
    updated_at = serializers.DateTimeField()


class Department(Shape):
    id = serializers.CharField(source="pk")
    label = serializers.CharField(source="name")


class Employment(WorkingTime):
    """What a person is employed as now."""

    person_id = serializers.CharField(source="pk")
    timeline_version = serializers.IntegerField(source="version")
    job_title = NullText()
    department = Department(allow_null=True)
    manager = PersonName(allow_null=True)
    work_place = Labelled(allow_null=True)
    work_type = Labelled(allow_null=True)
    working_pattern = Labelled(allow_null=True)
    contracted_weekly_minutes = serializers.IntegerField(allow_null=True)
    start_date = serializers.DateField(allow_null=True)
    end_date = serializers.DateField(allow_null=True)
    updated_at = serializers.DateTimeField()


class EmploymentRecord(Employment):
    """What a person was employed as from one day on."""

    id = serializers.CharField(source="pk")
    person_id = serializers.CharField()
    effective_from = serializers.DateField()
    created_at = serializers.DateTimeField()


class LinkedUnit(Shape):
    id = serializers.CharField(source="pk")
    type = serializers.CharField()
    name = serializers.CharField()
    code = NullText()
    archived_at = serializers.DateTimeField(allow_null=True)


class Link(Shape):
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


class Membership(Link):
    person_id = serializers.CharField()
    org_unit = LinkedUnit(source="unit")
    role = serializers.CharField()


class Relationship(Link):
    type = serializers.CharField()
    related_person = PersonName()


class OrgLinks(Shape):
    person_id = serializers.CharField(source="pk")
    memberships = Membership(many=True, source="unit_memberships.all")
    relationships = Relationship(many=True, source="relationships.all")


class HomeAddress(Shape):
    address_line_1 = NullText()
    address_line_2 = NullText()
    address_line_3 = NullText()
    city = NullText()
    region_state = NullText()
    postal_code = NullText()
    country = NullText(source="country_code")


class PersonalProfile(Shape):
    """The private part of a record; pay, bank, tax and notes are in no answer."""

    middle_names = NullText()
    date_of_birth = serializers.DateField(allow_null=True)
    personal_email = NullText()
    personal_phone_number = NullText()
    work_phone_number = NullText()
    home_address = HomeAddress(source="*")
    updated_at = serializers.DateTimeField()


class CustomValue(Shape):
    key = serializers.CharField(source="field.key")
    label = serializers.CharField(source="field.label")
    field_type = serializers.CharField(source="field.field_type")
    sensitivity = serializers.CharField(source="field.sensitivity")
    value = serializers.CharField()


class OrgUnit(Shape):
    id = serializers.CharField(source="pk")
    type = serializers.CharField()
    name = serializers.CharField()
    code = NullText()
    description = NullText()
    parent = Named(allow_null=True)
    active_from = serializers.DateField(allow_null=True)
    active_to = serializers.DateField(allow_null=True)
    is_archived = serializers.SerializerMethodField()
    archived_at = serializers.DateTimeField(allow_null=True)
    created_at = serializers.DateTimeField()
    updated_at = serializers.DateTimeField()

    def get_is_archived(self, row: Any) -> bool:
        return row.archived_at is not None


class Location(Shape):
    id = serializers.CharField(source="pk")
    name = serializers.CharField(source="label")
    is_active = serializers.BooleanField()


class WorkingPattern(Shape):
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


class Document(Shape):
    """The description of a file; the file and its link are in no answer."""

    id = serializers.CharField(source="pk")
    name = serializers.CharField(help_text="The file name.")
    person_id = serializers.CharField()
    category = NullText(source="category.label")
    content_type = NullText()
    size_bytes = serializers.IntegerField(allow_null=True)
    created_at = serializers.DateTimeField()
    updated_at = serializers.DateTimeField()

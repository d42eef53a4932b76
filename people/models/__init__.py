"""The tables of HR records. Every row belongs to an organization."""

from people.models.budget import DataUse
from people.models.calendars import HolidayCalendar
from people.models.decisions import DeciderRole, TimeOffDecision
from people.models.documents import (
    CustomField,
    CustomFieldValue,
    Document,
    FieldType,
    Sensitivity,
)
from people.models.people import (
    EmploymentRecord,
    Person,
    PersonProfile,
    PersonRelationship,
    PersonWord,
    RelationshipType,
)
from people.models.policies import CancellationRule, LeavePolicy, OverdraftRule
from people.models.recounts import LengthChange, Recount
from people.models.reference import ReferenceItem, ReferenceKind, WorkingPattern
from people.models.time_off import (
    AbsenceStatus,
    CategoryKind,
    EntryType,
    HolidayTreatment,
    LedgerEntry,
    PublicHoliday,
    TimeOff,
    TimeOffCategory,
    TimeOffSettings,
)
from people.models.units import OrgUnit, OrgUnitMembership, UnitRole, UnitType

__all__ = [
    "AbsenceStatus",
    "CancellationRule",
    "CategoryKind",
    "CustomField",
    "CustomFieldValue",
    "DataUse",
    "DeciderRole",
    "Document",
    "EmploymentRecord",
    "EntryType",
    "FieldType",
    "HolidayCalendar",
    "HolidayTreatment",
    "LeavePolicy",
    "LedgerEntry",
    "LengthChange",
    "OrgUnit",
    "OrgUnitMembership",
    "OverdraftRule",
    "Person",
    "PersonProfile",
    "PersonRelationship",
    "PersonWord",
    "PublicHoliday",
    "Recount",
    "ReferenceItem",
    "ReferenceKind",
    "RelationshipType",
    "Sensitivity",
    "TimeOff",
    "TimeOffCategory",
    "TimeOffDecision",
    "TimeOffSettings",
    "UnitRole",
    "UnitType",
    "WorkingPattern",
]

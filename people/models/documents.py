"""Documents, of which only the description is stored, and fields that an organization adds."""

from django.core.validators import RegexValidator, URLValidator
from django.db import models
from django.utils.translation import gettext_lazy as _

from foundation import ids
from people.models.columns import Record, key
from people.models.people import Person
from people.models.reference import ReferenceItem


def new_document_id() -> str:
    return ids.reference("doc_")


def new_field_id() -> str:
    return ids.reference("cfd_")


class Document(Record):
    """The description of a file about a person; the file itself is in another system."""

    id = key(new_document_id)
    person = models.ForeignKey(Person, models.CASCADE, related_name="documents")
    name = models.CharField(_("file name"), max_length=255)
    category = models.ForeignKey(
        ReferenceItem, models.SET_NULL, related_name="+", null=True, blank=True
    )
    content_type = models.CharField(_("content type"), max_length=100, blank=True)
    size_bytes = models.PositiveBigIntegerField(_("bytes"), null=True, blank=True)
    url = models.CharField(
        _("link"), max_length=500, blank=True, validators=[URLValidator(("https", "http"))]
    )

    class Meta:
        verbose_name = _("document")
        verbose_name_plural = _("documents")
        ordering = ("-created_at", "id")

    def __str__(self) -> str:
        return self.name


class FieldType(models.TextChoices):
    TEXT = "text", _("Text")
    NUMBER = "number", _("Number")
    DATE = "date", _("Date")
    BOOLEAN = "boolean", _("Yes or no")
    OPTION = "option", _("One of several options")


class Sensitivity(models.TextChoices):
    OPERATIONAL = "operational", _("Operational")
    PERSONAL = "personal", _("Personal")
    DEMOGRAPHIC = "demographic", _("Demographic")
    PAYROLL = "payroll", _("Payroll")


class CustomField(Record):
    """A field that an organization adds to the records of its people."""

    id = key(new_field_id)
    key = models.CharField(
        _("key"),
        max_length=60,
        validators=[RegexValidator(r"^[a-z][a-z0-9_]*\Z")],
        help_text=_("Lower-case letters, digits and underscores."),
    )
    label = models.CharField(_("label"), max_length=100)
    field_type = models.CharField(
        _("type"), max_length=10, choices=FieldType.choices, default=FieldType.TEXT
    )
    sensitivity = models.CharField(
        _("sensitivity"),
        max_length=20,
        choices=Sensitivity.choices,
        default=Sensitivity.PERSONAL,
    )

    class Meta:
        verbose_name = _("custom field")
        verbose_name_plural = _("custom fields")
        ordering = ("label",)
        constraints = (
            models.UniqueConstraint(fields=("organization", "key"), name="people_field_key"),
        )

    def __str__(self) -> str:
        return self.label


class CustomFieldValue(models.Model):
    """The value of a custom field for one person, as text."""

    person = models.ForeignKey(Person, models.CASCADE, related_name="custom_values")
    field = models.ForeignKey(CustomField, models.CASCADE, related_name="values")
    value = models.CharField(_("value"), max_length=500)

    class Meta:
        verbose_name = _("custom value")
        verbose_name_plural = _("custom values")
        constraints = (
            models.UniqueConstraint(fields=("person", "field"), name="people_one_custom_value"),
        )

    def __str__(self) -> str:
        return f"{self.field}: {self.value}"

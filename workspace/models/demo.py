"""How far the demo data of an organization is."""

from django.db import models
from django.utils.translation import gettext_lazy as _

from workspace.models.people import Organization


class DemoSeed(models.Model):
    """Demo data that an organization has or gets. `customers.demo.seeding` writes it.

    All dates of the data are relative to `as_of`. `parts_done` of the parts are stored; the number
    is raised in the transaction that stores a part, so that an interrupted run can be continued.
    """

    organization = models.OneToOneField(
        Organization, models.CASCADE, related_name="demo_seed", primary_key=True
    )
    size = models.CharField(_("size"), max_length=10)
    as_of = models.DateTimeField(_("as of"))
    parts_done = models.PositiveIntegerField(_("parts done"), default=0)
    finished_at = models.DateTimeField(_("finished"), null=True)

    class Meta:
        verbose_name = _("demo data")
        verbose_name_plural = _("demo data")

    def __str__(self) -> str:
        return f"{self.size}: {self.parts_done} parts"

from django.apps import AppConfig
from django.db.backends.signals import connection_created

from foundation.db import planning


class FoundationConfig(AppConfig):
    """The Django app of the rate counter migrations; the package has no models."""

    name = "foundation"
    label = "foundation"
    verbose_name = "Foundation"

    def ready(self) -> None:
        connection_created.connect(planning.plan_for_fast_storage)

from django.apps import AppConfig


class FoundationConfig(AppConfig):
    """Carries the migration of the rate counters; the package has no models."""

    name = "foundation"
    label = "foundation"
    verbose_name = "Foundation"

from django.apps import AppConfig


class FoundationConfig(AppConfig):
    """The Django app of the rate counter migrations; the package has no models."""

    name = "foundation"
    label = "foundation"
    verbose_name = "Foundation"

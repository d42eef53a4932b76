from django.apps import AppConfig


class FoundationConfig(AppConfig):
    """The Django app of the rate counters, the schedule and the proofs of sealing keys."""

    name = "foundation"
    label = "foundation"
    verbose_name = "Foundation"

"""Names the project's admin site as Django's default."""

from django.contrib.admin.apps import AdminConfig as DjangoAdminConfig


class AdminConfig(DjangoAdminConfig):
    default_site = "workspace.administration.site.HaloAdminSite"

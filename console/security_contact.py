"""GET /.well-known/security.txt: where people report vulnerabilities (RFC 9116)."""

from datetime import timedelta
from typing import Final

from django.conf import settings
from django.http import HttpRequest, HttpResponse
from django.utils import timezone
from django.views.decorators.http import require_safe

from oauth.endpoints import metadata

PATH: Final = "/.well-known/security.txt"
# Less than a year (RFC 9116 section 2.5.5). The contact is the one of the settings on every day.
VALID_FOR: Final = timedelta(days=30)


@require_safe
def security_txt(request: HttpRequest) -> HttpResponse:
    """Returns the contact of HALO_SECURITY_CONTACT; 404 without one, since it is required."""
    if not settings.HALO_SECURITY_CONTACT:
        return metadata.not_found(request)
    expires = (timezone.now() + VALID_FOR).replace(hour=0, minute=0, second=0, microsecond=0)
    lines = [
        f"Contact: {settings.HALO_SECURITY_CONTACT}",
        f"Expires: {expires:%Y-%m-%dT%H:%M:%SZ}",
        f"Canonical: {settings.HALO_PUBLIC_URL}{PATH}",
        "Preferred-Languages: en",
    ]
    return HttpResponse("\n".join(lines) + "\n", content_type="text/plain; charset=utf-8")

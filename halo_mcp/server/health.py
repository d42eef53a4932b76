"""GET /health: whether this process can do its work, for load balancers and for `./run`."""

from django.db import DatabaseError, connection
from django.http import HttpRequest, HttpResponse, JsonResponse
from django.views.decorators.http import require_safe


@require_safe
def health(_request: HttpRequest) -> HttpResponse:
    """Returns 200 if the database answers, else 503, without details."""
    try:
        with connection.cursor() as cursor:
            cursor.execute("SELECT 1")
    except DatabaseError:
        return _reply("database", 503)
    return _reply("ok", 200)


def _reply(state: str, status: int) -> HttpResponse:
    return JsonResponse({"status": state}, status=status, headers={"Cache-Control": "no-store"})

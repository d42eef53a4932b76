"""Saves changes of a policy and of a project's tools: what opens tools is confirmed first.

The last change of the policy can be undone.

What a change opens is found by making it: a page that saves something needs no check of its own.
"""

import json
from collections.abc import Callable, Mapping
from typing import Any, Final

from django.contrib import messages
from django.db import transaction
from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect, render
from django.utils.translation import gettext as _

from console.kept_forms import CONFIRMED, OF_ONE_SENDING
from console.message_storage import MessageStorage
from foundation import ids
from gateway.models import Project
from gateway.rules import editing, opening
from gateway.rules.editing import Editor, PolicyChanged
from gateway.rules.opening import OpenedTool

UNDO: Final = "policy_undo"  # the key of the session
MAX_UNDO_LENGTH: Final = 100_000


def confirm_and_save(
    request: HttpRequest, project: Project, page: Callable[[], HttpResponse]
) -> HttpResponse:
    """Returns the response of a page that may open tools, or asks whether it may.

    Nothing is saved before tools that would run with less than before were shown and confirmed.
    """
    with transaction.atomic():
        tools, before = opening.read_tool_steps(project), editing.snapshot(project)
        response = page()
        after = editing.snapshot(project)
        opened = opening.opened_tools(tools, opening.read_tool_steps(project))
        digest = ids.sha256_hex(repr(opened))
        is_asked = bool(opened) and request.POST.get(CONFIRMED) != digest
        if is_asked:
            transaction.set_rollback(True)
            storage = messages.get_messages(request)
            if isinstance(storage, MessageStorage):
                storage.discard()
    if is_asked:
        # After the transaction: nothing can be read in one that is rolled back.
        return _render_confirmation(request, project, opened, digest)
    if before != after:
        _save_undo(request, project, before, editing.digest(after))
    return response


def can_undo(request: HttpRequest, project: Project) -> bool:
    """Returns whether the person's last change of the policy can be undone."""
    undo = _find_undo(request, project)
    return undo is not None and undo["left"] == editing.digest(editing.snapshot(project))


def undo(request: HttpRequest, project: Project, by: Editor) -> HttpResponse:
    """Restores the policy before the person's last change, unless it has changed since."""
    found = _find_undo(request, project) or {"before": {}, "left": ""}
    try:
        editing.restore(project, found["before"], found["left"], by)
    except PolicyChanged:
        messages.error(request, _("Nothing was undone: the policy has changed since."))
    else:
        messages.success(request, _("Undone. It applies from the next call on."))
    return redirect("project_policy", project.pk)


def _render_confirmation(
    request: HttpRequest, project: Project, opened: list[OpenedTool], digest: str
) -> HttpResponse:
    given = [
        (name, value)
        for name, values in request.POST.lists()
        for value in values
        if name not in OF_ONE_SENDING
    ]
    context = {"project": project, "opened": opened, "given": [*given, (CONFIRMED, digest)]}
    return render(request, "console/gateway/policy_confirm.html", context)


def _save_undo(
    request: HttpRequest, project: Project, before: Mapping[str, Any], left: str
) -> None:
    request.session.pop(UNDO, None)
    if len(json.dumps(before)) <= MAX_UNDO_LENGTH:
        request.session[UNDO] = {"project": project.pk, "before": before, "left": left}


def _find_undo(request: HttpRequest, project: Project) -> dict[str, Any] | None:
    found: dict[str, Any] | None = request.session.get(UNDO)
    return found if found is not None and found["project"] == project.pk else None

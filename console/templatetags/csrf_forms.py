"""The tag `csrf_token` of every template: Django's, and who opened the page of the form.

Built in for all templates (`OPTIONS` of the settings), so that the forms of Django's admin and of
packages have it too.
"""

from typing import Any

from django import template
from django.template.defaulttags import CsrfTokenNode

from console import kept_forms
from workspace.models import User

register = template.Library()


class OwnedFormNode(CsrfTokenNode):
    def render(self, context: Any) -> str:
        token, user = super().render(context), context.get("user")
        return token + kept_forms.owner_field(user) if isinstance(user, User) else token


@register.tag
def csrf_token(_parser: Any, _token: Any) -> OwnedFormNode:
    return OwnedFormNode()

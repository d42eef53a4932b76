"""The template tag `{% product %}`: the name of the product with its version."""

from django import template

from foundation.version import PRODUCT

register = template.Library()


@register.simple_tag
def product() -> str:
    return PRODUCT

"""The template filter `link_target`, which every template has (`OPTIONS` of the settings)."""

from django import template

from foundation import links

register = template.Library()
register.filter(links.link_target)

"""Template tags for addresses of the admin: `{% row_url row 'delete' %}`.

`{% url 'admin:...' %}` is for pages without a key.
"""

from django import template

from foundation import admin_urls

register = template.Library()
register.simple_tag(admin_urls.page_url)
register.simple_tag(admin_urls.row_url)

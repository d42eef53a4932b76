"""The feature flags and their defaults."""

from collections.abc import Mapping
from types import MappingProxyType
from typing import Final

from django.utils.translation import gettext_lazy as _

MCP_SERVER: Final = "mcp_server"
IDENTITY_VERIFICATION: Final = "identity_verification"
PAGE_ACCOUNT_TRAITS: Final = "page_account_traits"

DEFAULTS: Final[Mapping[str, bool]] = MappingProxyType(
    {MCP_SERVER: True, IDENTITY_VERIFICATION: True, PAGE_ACCOUNT_TRAITS: False}
)
CHOICES: Final = [
    (MCP_SERVER, _("MCP server: off answers every MCP request with 403")),
    (
        IDENTITY_VERIFICATION,
        _("Identity verification: off lets any page name your customers without a token"),
    ),
    (
        PAGE_ACCOUNT_TRAITS,
        _("Account traits of pages: on lets pages write plans, revenue, contracts and companies"),
    ),
]
TITLES: Final[Mapping[str, object]] = MappingProxyType(
    {
        MCP_SERVER: _("MCP server"),
        IDENTITY_VERIFICATION: _("Identity verification"),
        PAGE_ACCOUNT_TRAITS: _("Account traits of pages"),
    }
)

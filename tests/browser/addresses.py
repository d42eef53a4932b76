"""Addresses of pages, which the tests that look at every page share. A new page is a line here."""

from typing import Final

FOR_ANYONE: Final = (
    "/",
    "/docs/",
    "/docs/?q=how+do+tokens+expire",
    "/signin",
    "/signin/inactive",
    "/no-such-page",
    "/api/mcp/oauth/authorize?client_id=unknown",
    "/admin/login/",
)
# Of an admin; each test adds those that only it opens.
FOR_AN_ADMIN: Final = (
    "/admin/",
    "/admin/audit/actionexecution/",
    "/admin/audit/securityevent/",
    "/admin/oauth/client/",
    "/admin/oauth/authorization/",
    "/admin/oauth/accesstoken/",
    "/admin/oauth/mcptoken/",
    "/admin/oauth/serverkey/",
    "/admin/oauth/serverkey/add/",
    "/projects-tokens",
    "/server-keys",
    "/admin/approvals/approvalrequest/",
    "/admin/tools_registry/integrationmode/",
    "/admin/tools_registry/integrationmode/switches/",
    "/admin/tools_registry/integrationmode/why/",
    "/admin/workspace/user/",
    "/admin/workspace/user/add/",
    "/admin/workspace/organization/",
    "/admin/workspace/membership/",
    "/admin/workspace/customer/",
    "/admin/workspace/company/",
    "/admin/workspace/lead/",
    "/admin/workspace/ticket/",
    "/admin/workspace/conversation/",
    "/admin/workspace/feedback/",
    "/admin/workspace/event/",
    "/admin/workspace/dataimport/",
    "/admin/workspace/dataimport/add/?kind=customers",
    "/admin/workspace/knowledgesource/",
    "/admin/workspace/knowledgesource/add/",
)

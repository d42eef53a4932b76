"""Rows of an organization are read by the modules that are listed here, and nowhere else."""

import ast
import textwrap
from collections.abc import Iterator

import pytest
from django.apps import apps
from django.db.models import ForeignKey, Model

from tests.architecture import sources
from workspace.models import Organization

MANAGERS = {"objects", "_default_manager", "_base_manager"}
# Called with a model, or with rows of one; the first also with whatever model a variable holds.
SHORTCUTS = {"QuerySet", "get_object_or_404", "get_list_or_404", "aget_object_or_404"}
# They query rows of organizations by themselves, and narrow them. All other modules call functions
# of these. The list may only shrink: a new module reads rows through one that is here.
MAY_QUERY = {
    "agents/definitions.py",
    "agents/language_models.py",
    "agents/privacy.py",
    "agents/sessions.py",
    "agents/turns.py",
    "approvals/admin.py",
    "approvals/decisions.py",
    "approvals/execution.py",
    "approvals/expiry.py",
    "approvals/following.py",
    "approvals/privacy.py",
    "approvals/requests.py",
    "approvals/surface_rules.py",
    "approvals/tasks.py",
    "console/gateway/imports.py",
    "console/gateway/policy.py",
    "console/gateway/requests.py",
    "console/gateway/tokens.py",
    "gateway/access.py",
    "gateway/admin.py",
    "gateway/credentials.py",
    "gateway/management/commands/gateway.py",
    "gateway/policies.py",
    "gateway/projects.py",
    "gateway/quota.py",
    "gateway/requests/approver_mail.py",
    "gateway/requests/details.py",
    "gateway/resources.py",
    "gateway/rules/editing.py",
    "gateway/rules/groups.py",
    "gateway/rules/opening.py",
    "gateway/source.py",
    "oauth/clients/cimd/resolving.py",
    "oauth/clients/client_admin.py",
    "oauth/clients/service_clients.py",
    "oauth/consent/decisions.py",
    "oauth/consent/obsolete_scopes.py",
    "oauth/consent/remembered.py",
    "oauth/credentials.py",
    "oauth/endpoints/consent.py",
    "oauth/grants/authorizations.py",
    "oauth/grants/cleanup.py",
    "oauth/grants/codes.py",
    "oauth/grants/connections.py",
    "oauth/grants/token_status.py",
    "oauth/grants/tokens.py",
    "oauth/mcp_tokens.py",
    "oauth/memberships.py",
    "oauth/server_keys.py",
    "people/access.py",
    "people/admin.py",
    "people/balances.py",
    "people/employment.py",
    "people/mcp/budget.py",
    "people/recounting.py",
    "people/seeding.py",
    "rest/idempotency.py",
    "tools_registry/admin/switchboard.py",
    "tools_registry/admin/switches.py",
    "tools_registry/pipeline/idempotency.py",
    "tools_registry/vendors/connecting.py",
    "tools_registry/vendors/connection_status.py",
    "tools_registry/vendors/credentials.py",
    "workspace/access.py",
    "workspace/admin.py",
    "workspace/administration/access.py",
    "knowledge/administration.py",
    "customers/administration/records/conversations.py",
    "customers/administration/records/filters.py",
    "customers/administration/records/pages.py",
    "customers/administration/records/search.py",
    "workspace/administration/scoped.py",
    "workspace/administration/stale.py",
    "customers/bulk_writes.py",
    "customers/companies.py",
    "customers/conversations.py",
    "customers/customers.py",
    "customers/demo/history.py",
    "customers/demo/planted.py",
    "customers/demo/seeding.py",
    "customers/events.py",
    "customers/identification/leads.py",
    "customers/identification/profiles.py",
    "customers/imports/uploads.py",
    "knowledge/indexing.py",
    "knowledge/page_reading.py",
    "knowledge/sources.py",
    "customers/kpis/snapshots.py",
    "customers/management/commands/seed_demo.py",
    "workspace/organizations.py",
    "workspace/outbox.py",
    "workspace/page_jobs.py",
    "customers/privacy/erasure.py",
    "customers/privacy/retention.py",
    "customers/privacy/subject.py",
    "customers/privacy/tables.py",
    "customers/privacy/text_columns.py",
    "customers/tickets.py",
}


@pytest.fixture(scope="module")
def names() -> set[str]:
    """The names of models whose rows belong to an organization, by whatever way."""
    found: set[type[Model]] = {Organization}
    models = [
        one for one in apps.get_models() if one.__module__.partition(".")[0] in sources.PACKAGES
    ]
    while True:
        more = {
            model
            for model in models
            if model not in found
            and any(
                isinstance(column, ForeignKey) and column.related_model in found
                for column in model._meta.concrete_fields
            )
        }
        if not more:
            return {model.__name__ for model in found - {Organization}}
        found |= more


def _find_queries(tree: ast.Module, names: set[str]) -> Iterator[str]:
    """The models that are queried: `Model.objects`, `models.Model.objects`, `QuerySet(Model)`."""
    aliases = {
        one.asname: one.name
        for node in ast.walk(tree)
        if isinstance(node, ast.ImportFrom)
        for one in node.names
        if one.asname
    }
    for node in ast.walk(tree):
        queried: list[ast.expr] = []
        if isinstance(node, ast.Attribute) and node.attr in MANAGERS:
            queried = [node.value]
        elif isinstance(node, ast.Call) and (called := _last_name(node.func, {})) in SHORTCUTS:
            queried = node.args[:1]
            yield from (ast.unparse(one) for one in queried if called == "QuerySet")
        yield from (name for one in queried if (name := _last_name(one, aliases)) in names)


def _last_name(node: ast.expr, aliases: dict[str, str]) -> str:
    name = node.attr if isinstance(node, ast.Attribute) else ast.unparse(node)
    return aliases.get(name, name)


def test_only_the_listed_modules_query_rows_of_organizations(names: set[str]) -> None:
    querying = {
        path: found
        for path, tree in sources.modules().items()
        if (found := sorted({*_find_queries(tree, names)}))
    }
    new = {path: models for path, models in querying.items() if path not in MAY_QUERY}
    assert new == {}, "read them through an access function, such as those of workspace/access.py"
    assert MAY_QUERY - querying.keys() == set(), "these query nothing any more: take them out"


@pytest.mark.parametrize(
    "text",
    [
        "Ticket.objects.all()",
        "QuerySet(Ticket).first()",
        "models.Ticket.objects.get(pk=1)",
        "Ticket._default_manager.all()",
        "get_object_or_404(Ticket, pk=1)",
        "shortcuts.get_object_or_404(models.Ticket, pk=1)",
        """
        from workspace.models import Ticket as Row
        Row.objects.all()
        """,
    ],
)
def test_a_query_of_a_tenants_rows_is_found(text: str, names: set[str]) -> None:
    assert {*_find_queries(ast.parse(textwrap.dedent(text)), names)} == {"Ticket"}

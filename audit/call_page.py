"""The page of one call in the admin: a summary, then the user, the connection and the arguments."""

import json
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any, Final

from django.db.models import QuerySet
from django.utils.html import format_html
from django.utils.safestring import SafeString
from django.utils.translation import gettext
from django.utils.translation import gettext_lazy as _

from audit import call_list, event_names, listing, reasons
from audit.models import ActionExecution
from audit.outcomes import Outcome
from foundation import admin_urls
from foundation.links import link
from workspace.administration.facts import Fact, drop_empty_facts, fact_of, page_of

OTHERS: Final = 10
USER_PAGE: Final = "workspace_user"
GOOD: Final = {Outcome.SUCCESS}
NEUTRAL: Final = {Outcome.STARTED, Outcome.INPUT_REQUIRED, Outcome.PENDING_APPROVAL}


@dataclass(frozen=True, slots=True)
class CallPage:
    """The content of the page of a call, in its order; `others` are of the same connection."""

    row: ActionExecution
    kind: str
    headline: str
    remedy: str
    facts: list[Fact]
    identifiers: list[Fact]
    arguments: str
    digest: list[Fact] = field(default_factory=list)
    others: list[ActionExecution] = field(default_factory=list)
    others_url: str = ""


def build(row: ActionExecution, visible: QuerySet[ActionExecution]) -> CallPage:
    """Returns the page of this call; other calls are limited to the rows that the user may see."""
    why = reasons.explanation(row)
    outcome = str(row.get_outcome_display())
    digest = _digest(row.arguments)
    kept = row.arguments["kept"] if digest else row.arguments
    return CallPage(
        row=row,
        kind=_kind(row),
        headline=f"{outcome}: {why.what}" if why.what else outcome,
        remedy=str(why.remedy),
        facts=drop_empty_facts(_facts(row)),
        identifiers=drop_empty_facts(_identifiers(row)),
        arguments=json.dumps(kept, indent=2, sort_keys=True, ensure_ascii=False) if kept else "",
        digest=digest,
        others=_others(row, visible),
        others_url=_list(q=row.authorization_id) if row.authorization_id else "",
    )


def badge(row: ActionExecution) -> SafeString:
    """Returns the outcome and the reason as HTML."""
    kind = _kind(row)
    shown = format_html(
        '<span class="halo-badge halo-{}">{}</span>', kind, row.get_outcome_display()
    )
    if not row.reason or row.reason == row.outcome:
        return shown
    return format_html('{} <span class="halo-reason">{}</span>', shown, row.reason)


def _kind(row: ActionExecution) -> str:
    if row.outcome in GOOD:
        return "good"
    return "wait" if row.outcome in NEUTRAL else "bad"


def milliseconds(row: ActionExecution) -> str:
    return "" if row.duration_us is None else f"{row.duration_us / 1000:,.1f}"


def person(row: ActionExecution) -> SafeString:
    """Returns who made a call, as a link; of one that was approved, who requested and approved it.

    The approval leads to the request.
    """
    own = link(_page(USER_PAGE, row.user_id), row.user_email or row.user_id)
    request = _request(row)
    if request is None:
        return own
    requester = link(_page(USER_PAGE, request.user_id), request.user_email or request.user_id)
    text = gettext("approved by %(person)s") % {"person": row.user_email or row.user_id}
    return format_html("{}; {}", requester, link(page_of(request), text))


def client(row: ActionExecution) -> SafeString:
    """Returns the client that made a call or requested it, as a link to its calls."""
    request = _request(row)
    named = row if request is None else request
    return link(_list(client=named.client_id), named.client_name or named.client_id)


def _request(row: ActionExecution) -> Any:
    """The request that a call was approved with, None without one that the visitor may see."""
    return row.names.find(event_names.REQUEST, event_names.request_of(row))


def _people(row: ActionExecution) -> Iterator[Fact]:
    """Who made a call and with which client; of one that was approved, by whom."""
    user = Fact(_("Granted by"), row.user_email or row.user_id, _page(USER_PAGE, row.user_id))
    request = _request(row)
    if request is None:
        yield user
        yield Fact(_("Client"), row.client_name or row.client_id, _list(client=row.client_id))
        return
    requester = request.user_email or request.user_id
    yield Fact(_("Requested by"), requester, _page(USER_PAGE, request.user_id))
    client = request.client_name or request.client_id
    yield Fact(_("Client"), client, _list(client=request.client_id))
    yield Fact(_("Approved by"), user.value, user.url)
    yield fact_of(_("Request"), request)


def _facts(row: ActionExecution) -> Iterator[Fact]:
    took = milliseconds(row)
    yield Fact(_("Call"), row.tool or row.method, _list(tool=row.tool) if row.tool else "")
    yield Fact(_("Time"), row.started_at)
    yield Fact(_("Duration"), f"{took} ms" if took else "")
    yield Fact(_("Details"), row.detail)
    yield Fact(_("Refused by"), row.layer)
    yield from _people(row)
    yield row.names.fact(_("Organization"), event_names.ORGANIZATION, row.organization_id)
    yield row.names.fact(_("Project"), event_names.PROJECT, event_names.project_of(row))
    yield Fact(_("Customer"), row.bound_customer_id)
    yield Fact(_("Surface"), row.surface, _list(surface=row.surface))
    yield Fact(_("Integration"), row.integration, _list(integration=row.integration))
    yield Fact(_("Status of the vendor's response"), row.upstream_status)
    yield Fact(_("Rows returned"), row.row_count)


def _identifiers(row: ActionExecution) -> Iterator[Fact]:
    yield Fact(_("Request id"), row.request_id)
    yield Fact(
        _("Connection"), row.authorization_id, _page("oauth_authorization", row.authorization_id)
    )
    yield Fact(_("Token"), row.token_id, _page("oauth_accesstoken", row.token_id))
    yield Fact(_("Client id"), row.client_id)
    yield Fact(_("Method"), row.method)
    yield Fact(_("Route"), row.route)
    yield Fact(_("Source"), row.source)
    yield Fact(_("MCP revision"), row.revision)
    yield Fact(_("Address"), row.address)
    yield Fact(_("Actor"), row.get_actor_kind_display())
    yield Fact(_("Row"), row.pk)


def _digest(arguments: Any) -> list[Fact]:
    """The length and digest of arguments that were too large to keep (`audit/record.py`)."""
    if not isinstance(arguments, dict) or set(arguments) != {"omitted", "kept"}:
        return []
    omitted = arguments["omitted"]
    if not isinstance(omitted, dict) or set(omitted) != {"bytes", "sha256"}:
        return []
    return [
        Fact(_("Length"), f"{omitted['bytes']:,} bytes"),
        Fact(_("SHA-256"), omitted["sha256"]),
    ]


def _others(row: ActionExecution, visible: QuerySet[ActionExecution]) -> list[ActionExecution]:
    if not row.authorization_id:
        return []
    same = visible.filter(authorization_id=row.authorization_id)
    found = call_list.load_rows(listing.newest(same, OTHERS + 1))
    return [other for other in found if other.pk != row.pk][:OTHERS]


def _list(**filters: str) -> str:
    ((name, value),) = filters.items()
    page = admin_urls.model_url(ActionExecution, **{name: value})
    return page if value else ""


def _page(model: str, key: str) -> str:
    return admin_urls.page_url(f"{model}_change", key) if key else ""

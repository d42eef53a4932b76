"""A small context of the consent page; `oauth/consent/consent_page.py` makes the real one."""

from types import SimpleNamespace
from typing import Any

from django.template.loader import render_to_string

from tests.console import markup


def page(**changed: Any) -> SimpleNamespace:
    """One organization, one thing to read, one thing to do; `changed` replaces attributes."""
    given = {
        "request_id": "018f-request",
        "client_name": "Claude",
        "client_is_verified": False,
        "client_origin": "It registered itself on 21 November 2026.",
        "redirect": SimpleNamespace(kind="web", display_host="claude.ai"),
        "user_email": "ada@acme.example",
        "organizations": [organization("Acme Rockets", selected=True)],
        "scope_groups": [
            group("Read", choice("docs:read", "search_docs")),
            group("Act on your behalf", choice("actions:hubspot:*", checked=False)),
        ],
        "shown_organization": "id-of-Acme Rockets",
        "included_scopes": "",
        "earlier": "",
        "access_lifetime": "Access tokens last 1 hour.",
        "time_to_answer": "This request expires in 10 minutes.",
        "remember": None,
        "form_action": "/api/mcp/oauth/consent",
        "same_request": "/api/mcp/oauth/authorize?client_id=claude",
        "notice": "",
        "problem": "",
    }
    return SimpleNamespace(**(given | changed))


def organization(name: str, *, selected: bool = False) -> SimpleNamespace:
    return SimpleNamespace(id=f"id-of-{name}", name=name, role="Admin", selected=selected)


def group(title: str, *choices: SimpleNamespace) -> SimpleNamespace:
    return SimpleNamespace(title=title, choices=choices)


def remember(*, checked: bool = False) -> SimpleNamespace:
    return SimpleNamespace(sentence="For 30 days, to app.example.", checked=checked)


def choice(value: str, *tools: str, checked: bool = True) -> SimpleNamespace:
    """A scope to tick; without tools it has none yet."""
    return SimpleNamespace(
        value=value,
        title=f"Title of {value}",
        sentence=f"Sentence of {value}",
        tools=[
            SimpleNamespace(name=name, title=f"Title of {name}", description="What it does.")
            for name in tools
        ],
        is_empty=not tools,
        held_by="",
        empty_reason="No tools available yet.",
        checked=checked,
    )


def render_consent(**changed: Any) -> markup.Element:
    """The consent page as a browser reads it."""
    return markup.read(render_to_string("oauth/consent.html", {"page": page(**changed)}))

"""The addresses of the SDK API below /api/sdk/."""

from collections.abc import Callable, Mapping
from functools import partial
from typing import Any, Final

from ingestion import contract, views
from rest.openapi import document_view

ROUTES: Final[Mapping[str, Callable[..., Any]]] = {
    "config": views.ConfigView.as_view(),
    "identify": views.IdentifyView.as_view(),
    "users/update": views.UsersUpdateView.as_view(),
    "users/merge": views.MergeView.as_view(),
    "alias": views.AliasView.as_view(),
    "joins/<str:join_id>/undo": views.JoinUndoView.as_view(),
    "companies": views.CompaniesView.as_view(),
    # Ids may have slashes.
    "companies/<path:company_id>": views.CompanyView.as_view(),
    "customers/<path:user_id>": views.CustomerView.as_view(),
    "tickets/create": views.TicketsCreateView.as_view(),
    "tickets/<str:ticket_id>": views.TicketView.as_view(),
    "tickets/<str:ticket_id>/messages": views.TicketMessagesView.as_view(),
    "events": views.EventsView.as_view(),
    "events/<path:event_id>": views.EventView.as_view(),
    "chat/transcripts": views.TranscriptsView.as_view(),
    "chat/transcripts/<path:session_id>": views.TranscriptView.as_view(),
}

openapi: Final = document_view(partial(contract.document, ROUTES))

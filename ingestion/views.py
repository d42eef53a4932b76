"""The addresses of the SDK API. Each reads who is calling, then the body, then does the work."""

import re
from collections.abc import Callable, Mapping
from functools import partial
from typing import Any, Final, TypeAlias
from uuid import UUID

from rest_framework.request import Request
from rest_framework.response import Response
from rest_framework.views import APIView

from customers.events import MAX_BATCH
from customers.identification.field_values import InvalidField
from ingestion import callers, contract, errors, requests, serializers
from ingestion.callers import SdkCaller, Secrets
from ingestion.contract import operation
from oauth import server_keys
from oauth.endpoints.replies import address_of
from rest import idempotency, openapi
from rest.bodies import StrictJson
from rest.errors import ApiError, field_error
from rest.idempotency import CallerKey
from rest.serializers import validate
from workspace import flags, organizations
from workspace.models import Organization

Sent: TypeAlias = Mapping[str, Any]

# Visible ASCII characters.
KEY: Final = re.compile(r"[!-~]{1,200}")


class Beacon(StrictJson):
    """JSON as text: `navigator.sendBeacon` can send no other type to another origin."""

    media_type = "text/plain"


class SdkView(APIView):
    """Charges the rate limits, then answers."""

    def get_exception_handler(self) -> Callable[..., Response | None]:
        return errors.response

    def caller(self, request: Request, scope: str = server_keys.SDK_WRITE) -> SdkCaller:
        """Returns the caller by the headers. Raises ApiError."""
        secrets = callers.read_secrets(request)
        callers.charge(request, secrets)
        return callers.authenticate(request, secrets, scope)

    def server(self, request: Request, scope: str = server_keys.SDK_WRITE) -> SdkCaller:
        """Returns the caller, who has a server key. Raises ApiError for others."""
        caller = self.caller(request, scope)
        if not caller.is_server:
            raise ApiError(403, "This address takes a server key.")
        return caller

    def delete_row(self, request: Request, deletion: requests.Deletion, named: str) -> Response:
        """Deletes the row that the address of a request names."""
        caller = self.server(request, server_keys.SDK_DELETE)
        return Response(requests.delete_row(caller, deletion, named.strip(), address_of(request)))


class ConfigView(SdkView):
    @operation(
        "Read what a page needs to know. Needs no key.",
        response=serializers.Config,
        parameters=[contract.ORGANIZATION],
        auth=[],
    )
    def get(self, request: Request) -> Response:
        callers.charge(request, Secrets())
        found = _organization(request.query_params.get("org_id", ""))
        body = {
            "org_id": str(found.pk),
            "identity_verification": organizations.flag(found.pk, flags.IDENTITY_VERIFICATION),
            "max_events": MAX_BATCH,
        }
        return Response(body, headers=openapi.PUBLIC)


class IdentifyView(SdkView):
    @operation(
        "Say who is using the app; adds the customer if needed.",
        request=serializers.Identify,
        response=serializers.Identified,
    )
    def post(self, request: Request) -> Response:
        caller = self.caller(request)
        return Response(requests.identify(caller, validate(serializers.Identify, request.data)))


class UsersUpdateView(SdkView):
    @operation(
        "Change up to 1000 customers without changing when they were last seen.",
        request=serializers.UsersUpdate,
        response=serializers.UsersUpdated,
        auth=contract.UPDATES,
    )
    def post(self, request: Request) -> Response:
        secrets = callers.read_secrets(request)
        callers.charge(request, secrets)
        caller = callers.authenticate_update(request, secrets)
        return Response(
            requests.update_users(caller, validate(serializers.UsersUpdate, request.data))
        )


class AliasView(SdkView):
    @operation(
        "Make two ids those of one customer. It can be undone, and repeated.",
        request=serializers.Alias,
        response=serializers.CustomersMerged,
        auth=contract.SERVERS,
    )
    def post(self, request: Request) -> Response:
        caller = self.server(request)
        return Response(requests.add_alias(caller, validate(serializers.Alias, request.data)))


class MergeView(SdkView):
    @operation(
        "Merge a customer into another one. It can be undone, and repeated.",
        request=serializers.CustomerMerge,
        response=serializers.CustomersMerged,
        auth=contract.SERVERS,
    )
    def post(self, request: Request) -> Response:
        caller = self.server(request)
        sent = validate(serializers.CustomerMerge, request.data)
        return Response(requests.merge_customers(caller, sent))


class JoinUndoView(SdkView):
    @operation(
        "Undo a join: the rows that it moved go back. It is not made again by itself.",
        response=serializers.JoinUndone,
        parameters=[contract.JOIN],
        auth=contract.SERVERS,
    )
    def post(self, request: Request, join_id: str) -> Response:
        return Response(requests.undo_join(self.server(request), join_id))


class CompaniesView(SdkView):
    @operation(
        "Change a company; adds it if needed.",
        request=serializers.CompanyUpsert,
        response=serializers.Identified,
    )
    def post(self, request: Request) -> Response:
        caller = self.caller(request)
        return Response(
            requests.upsert_company(caller, validate(serializers.CompanyUpsert, request.data))
        )


class TicketsCreateView(SdkView):
    @operation(
        "Create a ticket.",
        request=serializers.TicketCreate,
        response=serializers.TicketCreated,
        parameters=[contract.IDEMPOTENCY_KEY],
    )
    def post(self, request: Request) -> Response:
        caller = self.caller(request)
        body = validate(serializers.TicketCreate, request.data)
        return _once(request, caller, body, partial(requests.create_ticket, caller, body))


class TicketView(SdkView):
    @operation(
        "Change a ticket: its status, assignee, priority, category, subject and ids.",
        request=serializers.TicketUpdate,
        response=serializers.TicketUpdated,
        parameters=[contract.TICKET],
        auth=contract.SERVERS,
    )
    def patch(self, request: Request, ticket_id: str) -> Response:
        caller = self.server(request)
        sent = validate(serializers.TicketUpdate, request.data)
        return Response(requests.change_ticket(caller, ticket_id, sent))

    @operation(
        "Delete a ticket with its messages. May be repeated.",
        response=serializers.Deleted,
        parameters=[contract.TICKET],
        auth=contract.SERVERS,
    )
    def delete(self, request: Request, ticket_id: str) -> Response:
        return self.delete_row(request, requests.TICKET, ticket_id)


class CustomerView(SdkView):
    @operation(
        "Erase a customer. May be repeated, and then says how far it is.",
        response=serializers.CustomerErased,
        parameters=[contract.CUSTOMER],
        auth=contract.SERVERS,
    )
    def delete(self, request: Request, user_id: str) -> Response:
        caller = self.server(request, server_keys.SDK_DELETE)
        return Response(requests.erase_customer(caller, user_id.strip(), address_of(request)))


class CompanyView(SdkView):
    @operation(
        "Delete a company; its customers stay, without one. May be repeated.",
        response=serializers.Deleted,
        parameters=[contract.COMPANY],
        auth=contract.SERVERS,
    )
    def delete(self, request: Request, company_id: str) -> Response:
        return self.delete_row(request, requests.COMPANY, company_id)


class TranscriptView(SdkView):
    @operation(
        "Delete a conversation with its messages and ratings. May be repeated.",
        response=serializers.Deleted,
        parameters=[contract.SESSION],
        auth=contract.SERVERS,
    )
    def delete(self, request: Request, session_id: str) -> Response:
        return self.delete_row(request, requests.TRANSCRIPT, session_id)


class EventView(SdkView):
    @operation(
        "Delete an event that a server sent with an id. May be repeated.",
        response=serializers.Deleted,
        parameters=[contract.EVENT],
        auth=contract.SERVERS,
    )
    def delete(self, request: Request, event_id: str) -> Response:
        return self.delete_row(request, requests.EVENT, event_id)


class TicketMessagesView(SdkView):
    @operation(
        "Add a message to a ticket. A customer's message opens a resolved ticket again.",
        request=serializers.TicketReply,
        response=serializers.TicketReplied,
        parameters=[contract.TICKET, contract.IDEMPOTENCY_KEY],
        auth=contract.SERVERS,
    )
    def post(self, request: Request, ticket_id: str) -> Response:
        caller = self.server(request)
        body = validate(serializers.TicketReply, request.data)
        run = partial(requests.reply_to_ticket, caller, ticket_id, body)
        return _once(request, caller, body, run)


class EventsView(SdkView):
    parser_classes = (StrictJson, Beacon)

    @operation(
        "Record up to 100 events.",
        request=serializers.EventBatch,
        response=serializers.EventsRecorded,
    )
    def post(self, request: Request) -> Response:
        secrets = callers.read_secrets(request)
        if not secrets.key:
            secrets = _read_body_secrets(request.data)
        callers.charge(request, secrets)
        caller = callers.authenticate(request, secrets, server_keys.SDK_WRITE)
        return Response(
            requests.record_events(caller, validate(serializers.EventBatch, request.data))
        )


class TranscriptsView(SdkView):
    @operation(
        "Store a conversation, or up to 50 further messages of one.",
        request=serializers.TranscriptUpsert,
        response=serializers.TranscriptStored,
        auth=contract.SERVERS,
    )
    def post(self, request: Request) -> Response:
        caller = self.server(request)
        sent = validate(serializers.TranscriptUpsert, request.data)
        return Response(requests.upsert_transcript(caller, sent))


def _read_body_secrets(data: Any) -> Secrets:
    """Returns the secrets that sendBeacon puts into the body: it sends no headers."""
    given = data if isinstance(data, dict) else {}
    key, token = given.get("api_key", ""), given.get("user_token", "")
    return Secrets(key if isinstance(key, str) else "", token if isinstance(token, str) else "")


def _once(request: Request, caller: SdkCaller, body: Sent, run: Callable[[], Sent]) -> Response:
    header = request.headers.get(idempotency.HEADER, "")
    if not header:
        return Response(run())
    idempotency.check_key(header, KEY, "Send 1 to 200 visible ASCII characters.")
    key = CallerKey(
        caller.organization.pk,
        api="sdk",
        credential=caller.credential,
        key=header,
        identity=caller.identity.user_id if caller.identity else "",
    )
    return Response(idempotency.run_once(key, {"path": request.path, "body": body}, run))


def _organization(named: str) -> Organization:
    """Raises InvalidField for text that is no id, and ApiError for an unknown organization."""
    try:
        organization_id = UUID(named)
    except ValueError:
        raise InvalidField("org_id", "Send the id of your organization.") from None
    found = Organization.objects.filter(pk=organization_id, suspended_at__isnull=True).first()
    if found is None:
        raise field_error(404, "org_id", "There is no such organization.")
    return found

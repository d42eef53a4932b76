"""HubSpot on the loopback: a small account, guarded by the published crm/v3 contract."""

from collections.abc import Mapping
from typing import Any
from uuid import uuid4

from tests.drivers.fake_vendors.contract import JSON_TYPE, Breach, FakeVendor, Request, VendorReply

OWNERS = "/crm/v3/owners"
WHEN = "2027-01-31T12:00:00.000Z"
# What a new record's association to another is called (HubSpot, Associations v4), by the types of
# both.
ASSOCIATIONS = {
    ("0-3", 3): "contacts",
    ("notes", 202): "contacts",
    ("notes", 214): "deals",
    ("tasks", 204): "contacts",
    ("tasks", 216): "deals",
}
PROPERTIES = {
    "contacts": {"email", "firstname", "lastname", "phone", "jobtitle"},
    "0-3": {"dealname", "amount", "pipeline", "dealstage", "closedate", "hubspot_owner_id"},
    "notes": {"hs_note_body", "hs_timestamp", "hubspot_owner_id"},
    "tasks": {
        *("hs_task_subject", "hs_task_body", "hs_task_status", "hs_task_type"),
        *("hs_task_priority", "hs_timestamp", "hubspot_owner_id"),
    },
}


class HubSpot(FakeVendor):
    """An account with three contacts, two deals, one owner and three pipelines."""

    contract = "hubspot/crm-v3.json"

    def __init__(self, port: int = 0) -> None:
        super().__init__(port)
        self.contacts = {"101": "ada@example.com", "102": "grace@example.com", "103": "o'b+x@e.com"}
        self.deals = {"501": ["101"], "502": ["102"]}
        self.portal = 12345
        # The scopes that the credential does not have.
        self.lacking: set[str] = set()
        self.owners = {"owner@example.com": "77"}
        self.pipelines = [
            _pipeline("renewals", "Renewals", 1, ["Open", "Won"]),
            _pipeline("default", "Sales Pipeline", 0, ["Appointment", "Contract sent", "Won"]),
            _pipeline("old", "Old", -1, ["Gone"], archived=True),
        ]

    def judge(self, operation: Mapping[str, Any], request: Request) -> None:
        parameters = {one["name"]: one for one in operation["parameters"] if one["in"] == "query"}
        for name, given in request.query.items():
            if name not in parameters:
                raise Breach(f"no parameter {name}")
            schema = parameters[name]["schema"]
            value: Any = given.split(",") if schema["type"] == "array" else given
            self.conforms(int(given) if schema["type"] == "integer" else value, schema, closed=True)
        expected = operation.get("requestBody")
        if expected is None:
            if request.body:
                raise Breach("a body that nobody reads")
            return
        if request.headers.get("content-type") != JSON_TYPE:
            raise Breach("the body is not sent as JSON")
        self.conforms(request.json, expected["content"][JSON_TYPE]["schema"], closed=True)

    def response_schema(self, operation: Mapping[str, Any], status: int) -> Any:
        known = operation["responses"].get(str(status))
        known = known or self.document["components"]["responses"]["Error"]
        return next(iter(known["content"].values()))["schema"]

    def unauthorized_reply(self) -> VendorReply:
        return _error(401, "INVALID_AUTHENTICATION", "Authentication credentials not found.")

    def answer(self, request: Request) -> VendorReply:
        scope = _scope(request)
        if scope in self.lacking:
            return _lacks(scope)
        return self._read_for_check(request) or self._answer(request)

    def _read_for_check(self, request: Request) -> VendorReply | None:
        if request.path.startswith("/crm/v3/properties/"):
            return _read_properties([one["name"] for one in request.json["inputs"]])
        if request.line == "GET /crm/v3/objects/contacts":
            return VendorReply(200, {"results": [_record(id_, {}) for id_ in self.contacts][:1]})
        return None

    def _answer(self, request: Request) -> VendorReply:
        if request.path.startswith("/crm/v3/pipelines/"):
            assert request.variables["objectType"] in {"deals", "0-3"}
            return VendorReply(200, {"results": self.pipelines})
        if request.path == "/account-info/v3/details":
            return VendorReply(200, _account(self.portal))
        if request.path == "/crm/v3/owners":
            return VendorReply(200, {"results": self._owners(request.query.get("email"))})
        kind = request.path.split("/")[4]
        if request.method == "POST":
            return self._create(kind, request.json)
        return self._contact(request) if kind == "contacts" else self._deal(request)

    def _owners(self, email: str | None) -> list[Any]:
        dates = {"createdAt": WHEN, "updatedAt": WHEN, "archived": False}
        return [
            {"id": owner, "email": address, "type": "PERSON", "userId": 7, **dates}
            for address, owner in self.owners.items()
            if email in (None, address)
        ]

    def _contact(self, request: Request) -> VendorReply:
        wanted = request.variables["contactId"]
        by_email = request.query.get("idProperty") == "email"
        found = {email: id_ for id_, email in self.contacts.items()} if by_email else None
        record = found.get(wanted) if found is not None else wanted
        if record not in self.contacts:
            return _error(404, "OBJECT_NOT_FOUND", "resource not found")
        changed = request.json["properties"] if request.method == "PATCH" else {}
        return self._unknown("contacts", changed) or VendorReply(200, _record(record, changed))

    def _deal(self, request: Request) -> VendorReply:
        deal = request.variables["dealId"]
        if deal not in self.deals:
            return _error(404, "OBJECT_NOT_FOUND", "resource not found")
        linked = [{"id": contact, "type": "deal_to_contact"} for contact in self.deals[deal]]
        asked = request.query.get("associations") == "contacts" and linked
        return VendorReply(
            200,
            _record(deal, {})
            | ({"associations": {"contacts": {"results": linked}}} if asked else {}),
        )

    def _create(self, kind: str, body: Any) -> VendorReply:
        for association in body["associations"]:
            (named,) = association["types"]
            about = ASSOCIATIONS.get((kind, named["associationTypeId"]))
            if about is None or named["associationCategory"] != "HUBSPOT_DEFINED":
                raise Breach(f"no association type {named} of {kind}")
            if association["to"]["id"] not in (
                self.contacts if about == "contacts" else self.deals
            ):
                return _error(400, "VALIDATION_ERROR", "Object not found. objectId are not valid")
        properties = body["properties"]
        return self._unknown(kind, properties) or VendorReply(201, _record("9001", properties))

    def _unknown(self, kind: str, properties: Mapping[str, str]) -> VendorReply | None:
        unknown = sorted(properties.keys() - PROPERTIES[kind])
        if not unknown:
            return None
        words = f'Property values were not valid: [{{"name":"{unknown[0]}"}}]'
        return _error(400, "VALIDATION_ERROR", words)


def _scope(request: Request) -> str:
    """The scope that a request needs; notes and tasks are written with that for contacts."""
    kinds = {"0-3": "deals", "notes": "contacts", "tasks": "contacts"}
    kind = "owners" if request.path == OWNERS else "".join(request.path.split("/")[4:5])
    name = kinds.get(kind, kind)
    is_read = request.method == "GET" or request.path.endswith("/batch/read")
    return f"crm.objects.{name}.{'read' if is_read else 'write'}"


def _lacks(scope: str) -> VendorReply:
    message = "This app hasn't been granted all required scopes to make this call."
    needed = {"requiredGranularScopes": [scope]}
    error = {"message": "One or more of the following scopes are required.", "context": needed}
    reply = _error(403, "MISSING_SCOPES", message)
    return VendorReply(403, {**reply.body, "errors": [error]})


def _read_properties(names: list[str]) -> VendorReply:
    facts = {
        "description": "",
        "fieldType": "text",
        "groupName": "g",
        "options": [],
        "type": "string",
    }
    known = {*PROPERTIES["contacts"], "createdate"}
    found = [
        {
            **facts,
            "name": name,
            "label": name,
            "modificationMetadata": {
                "archivable": True,
                "readOnlyDefinition": True,
                "readOnlyValue": name == "createdate",
            },
        }
        for name in names
        if name in known
    ]
    times = {"startedAt": WHEN, "completedAt": WHEN, "status": "COMPLETE"}
    return VendorReply(200 if len(found) == len(names) else 207, {"results": found, **times})


def _account(portal: int) -> dict[str, Any]:
    currency = {"companyCurrency": "USD", "additionalCurrencies": []}
    place = {"dataHostingLocation": "na1", "uiDomain": "app.hubspot.com", "timeZone": "Etc/UTC"}
    offset = {"utcOffset": "+00:00", "utcOffsetMilliseconds": 0}
    return {"portalId": portal, "accountType": "STANDARD", **currency, **place, **offset}


def _record(record: str, properties: Mapping[str, str]) -> dict[str, Any]:
    dates = {"createdAt": WHEN, "updatedAt": WHEN, "archived": False}
    return {"id": record, "properties": dict(properties), **dates}


def _pipeline(
    name: str, label: str, order: int, stages: list[str], *, archived: bool = False
) -> dict[str, Any]:
    dates = {"createdAt": WHEN, "updatedAt": WHEN}
    return {
        "id": name,
        "label": label,
        "displayOrder": order,
        "archived": archived,
        "stages": [
            {
                "id": f"{name}-{number}",
                "label": stage,
                "displayOrder": number,
                "archived": False,
                "metadata": {"probability": "0.5"},
                **dates,
            }
            for number, stage in enumerate(stages)
        ][::-1],
        **dates,
    }


def _error(status: int, category: str, message: str) -> VendorReply:
    reported = {"status": "error", "message": message, "category": category}
    return VendorReply(status, {**reported, "correlationId": str(uuid4())})

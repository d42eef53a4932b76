"""Descriptions of documents."""

from typing import Final

from people.api import answers, shapes
from people.api.operation import CheckedCall, Operation, OperationAnswer
from people.api.people_filters import find_referenced_row
from people.api.queries import DocumentsQuery
from people.models import Document, Person
from rest.paging import PageOrder


def documents(call: CheckedCall) -> OperationAnswer:
    query = call.query
    rows = call.rows(Document).select_related("category")
    if since := query.get("updated_since"):
        rows = rows.filter(updated_at__gte=since)
    if "person_id" in query:
        owner = find_referenced_row(Person, call, query["person_id"], "person_id")
        rows = rows.filter(person=owner)
    order = PageOrder("created_at", is_descending=True)
    return answers.paginate(shapes.DocumentSerializer, rows, query, order)


def document(call: CheckedCall) -> OperationAnswer:
    row = call.row(Document, call.path["document_id"], "category")
    return answers.one(shapes.DocumentSerializer, row)


EXAMPLE: Final = {
    "id": "doc_6m",
    "name": "contract.pdf",
    "person_id": "2b7v0c9x4k1m",
    "category": "Contract",
    "content_type": "application/pdf",
    "size_bytes": 48213,
    "created_at": "2026-01-05T09:00:00Z",
    "updated_at": "2026-01-05T09:00:00Z",
}
PROJECTION: Final = (
    *("id", "person_id", "name=[redacted]", "category=Document", "content_type", "size_bytes"),
    *("created_at", "updated_at"),
)
OPERATIONS: Final = (
    Operation(
        id="listDocuments",
        personal=True,
        path="documents",
        scope="documents:read",
        summary="List the descriptions of documents, the newest first.",
        run=documents,
        response=shapes.DocumentSerializer,
        query=DocumentsQuery,
        lists=True,
        pages=True,
        example=EXAMPLE,
        projection=PROJECTION,
    ),
    Operation(
        id="getDocument",
        personal=True,
        path="documents/{document_id}",
        scope="documents:read",
        summary="Read the description of one document.",
        run=document,
        response=shapes.DocumentSerializer,
        example=EXAMPLE,
        projection=PROJECTION,
    ),
)

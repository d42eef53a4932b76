"""Projects: made of a document, imported again, changed and deleted; each change is on record."""

from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from fnmatch import fnmatchcase
from itertools import groupby
from math import inf
from operator import itemgetter
from typing import Any, Final, Literal, TypeAlias
from uuid import UUID

from django.conf import settings
from django.contrib.admin.models import CHANGE, LogEntry
from django.db import IntegrityError, transaction
from django.utils import timezone
from django.utils.translation import gettext as _

from approvals import requests
from audit import record
from foundation import ids
from foundation.db.storable import escape_unstorable
from foundation.peer import UNKNOWN
from gateway import differences, importing, outbound_policy, policies, servers
from gateway.differences import Note
from gateway.importing import ReadingTimeUsed, UnusableDocument
from gateway.models import (
    Authentication,
    Effect,
    ImportDraft,
    Project,
    ProjectDocument,
    ProjectTool,
)
from gateway.openapi import mapping, process
from gateway.openapi.shapes import Import, OpenApiOperation, as_json, from_json
from oauth import mcp_tokens
from workspace.models import Organization, User

READS: Final = frozenset({"GET", "HEAD"})
# A change of these is another version: requests for approval are bound to both.
VERSIONED: Final = frozenset({"target_url", "authentication", "servers"})
SWITCHES: Final = ("is_enabled", "is_read", "needs_review")
MAX_NAME_LENGTH: Final = 64
MAX_KEY_LENGTH: Final = 500
Policy: TypeAlias = Literal["default", "allow"]
Change: TypeAlias = Literal["added", "changed", "removed", "returned"]


class InvalidProject(Exception):
    """A project cannot be saved like this; the message is for the person who enters it."""


@dataclass(frozen=True, slots=True)
class CreatedProject:
    """A new project, and what its document came to."""

    project: Project
    imported: Import


@dataclass(frozen=True, slots=True)
class ToolChange:
    """One tool that another version of the document adds, changes, removes or brings back.

    `details` are what changed, `description` is that of a tool that is new or back.
    """

    change: Change
    name: str
    key: str
    details: Sequence[Note] = ()
    description: str = ""


@dataclass(frozen=True, slots=True)
class Difference:
    """What an import changes in the tools of a project; `imported` is what it was read from."""

    imported: Import = field(repr=False)
    changes: Sequence[ToolChange] = ()
    unchanged: int = 0


@dataclass(slots=True)
class _Plan:
    """The rows that an import saves: by their keys in the new document, and those that left it.

    `before` are the operations of the document in use that an earlier version of this server
    mapped, as this one maps them: only what the document changes is a change.
    """

    before: Mapping[str, OpenApiOperation]
    present: dict[str, ProjectTool] = field(default_factory=dict)
    absent: list[ProjectTool] = field(default_factory=list)
    changes: list[ToolChange] = field(default_factory=list)


def create(
    organization: Organization,
    *,
    name: str,
    target_url: str,
    document_text: str,
    imported: Import | None = None,
    document_url: str = "",
    owner: User | None,
    policy: Policy = "default",
    self_approval: bool = False,
    reads: Sequence[str] = (),
    tags: Collection[str] | None = None,
    authentication: str = "",
    confirmed_servers: Sequence[str] = (),
    address: str = UNKNOWN,
) -> CreatedProject:
    """Makes a project of a document, with all its tools.

    `imported` is what the document came to, if the caller has read it. With `self_approval`,
    requesters may approve their own requests. `reads` are patterns of tools that only read whatever
    their method is. With `tags`, only tools that `has_tag` finds are on. Without `authentication`
    people enter credentials of their own if the document declares any. `confirmed_servers` are the
    servers of operations that calls go to, as the document declares them. Raises UnusableDocument,
    InvalidTargetUrl and InvalidProject.
    """
    if imported is None:
        imported = importing.read(document_text, organization.pk).imported
    project = Project(
        organization=organization,
        name=_clean_name(name),
        owner=owner,
        target_url=outbound_policy.base_url(target_url),
        servers={one: one for one in map(outbound_policy.base_url, confirmed_servers)},
        document_url=importing.url_to_keep(document_url),
        authentication=authentication or suggested_authentication(imported),
        writes=Effect.ALLOW if policy == "allow" else Effect.REQUIRE_APPROVAL,
        self_approval=self_approval,
    )
    try:
        with transaction.atomic():
            project.save(force_insert=True)
            _keep_document(project, document_text, owner)
            ProjectTool.objects.bulk_create(_first_rows(project, imported, reads, tags))
    except IntegrityError:
        raise InvalidProject(_("The organization has a project of this name.")) from None
    detail = f"{project.name}, self_approval: True" if self_approval else project.name
    record_change("project_created", project, owner, address, detail)
    return CreatedProject(project, imported)


def keep_import(draft: ImportDraft, imported: Import) -> None:
    """Keeps in a draft that is not saved yet what its document comes to, for `read_draft`."""
    kept = escape_unstorable(process.as_stored(imported))
    draft.fields |= {"read_version": mapping.VERSION, "read": kept}


def read_draft(draft: ImportDraft) -> Import:
    """Returns what the document of a draft comes to. Raises UnusableDocument.

    It is read again only if that was by the rules of another version of this server.
    """
    if draft.fields.get("read_version") == mapping.VERSION:
        return process.from_stored(draft.fields["read"])
    return importing.read(draft.text, draft.organization_id).imported


def difference(project: Project, text: str, draft: ImportDraft | None = None) -> Difference:
    """Returns what importing a document would change. Raises UnusableDocument.

    `draft` is of this document, and keeps what the one in use comes to, for the import that
    follows.
    """
    imported = _read_document(project, text, draft)
    plan = _plan_changes(project, imported.operations, _remap_operations(project, draft))
    unchanged = len(plan.present) - sum(one.change != "removed" for one in plan.changes)
    return Difference(imported, tuple(plan.changes), unchanged)


def reimport(
    project: Project,
    text: str,
    by: User | None,
    *,
    address: str = UNKNOWN,
    draft: ImportDraft | None = None,
    require: Callable[[Project], None] = lambda _project: None,
) -> Difference:
    """Imports another version of a project's document.

    Tools keep their names and with them their policy. One whose meaning changed waits for a review.
    `draft` is of this document, if there is one.
    `require` gets the project under its lock and may raise, so that nothing is imported.
    Raises UnusableDocument.
    """
    imported = _read_document(project, text, draft)
    before = _remap_operations(project, draft)
    with transaction.atomic():
        locked = Project.objects.select_for_update().get(pk=project.pk)
        require(locked)
        plan = _plan_changes(locked, imported.operations, before)
        locked.version += 1
        locked.save(update_fields=["version", "updated_at"])
        _keep_document(locked, text, by)
        for row in plan.absent:
            row.save(update_fields=["is_present", "updated_at"])
        for row in plan.present.values():
            row.save()
    project.version = locked.version
    record_change("project_imported", project, by, address, f"version {locked.version}")
    unchanged = len(plan.present) - sum(one.change != "removed" for one in plan.changes)
    return Difference(imported, tuple(plan.changes), unchanged)


def set_tools(
    project: Project,
    *,
    enabled: Iterable[UUID],
    reads: Iterable[UUID],
    reviewed: Mapping[UUID, str] | None = None,
    among: Iterable[UUID] | None = None,
    by: User | None,
    address: str = UNKNOWN,
) -> int:
    """Sets which tools are enabled and which only read; returns how many that changed.

    `reviewed` are tools that an admin has seen as they are now, each with the fingerprint of what
    was seen: they can be called again. One that an import has changed since stays as it is. Only
    those `among` are set, by default all.
    """
    on, only_read, seen = set(enabled), set(reads), reviewed or {}
    changed = []
    with transaction.atomic():
        # The project first, as an import locks them: in another order the two could deadlock.
        touch(project.pk)
        rows = project.tools.select_for_update().filter(is_present=True)
        for row in rows if among is None else rows.filter(pk__in=list(among)):
            before = {name: getattr(row, name) for name in SWITCHES}
            row.is_enabled, row.is_read = row.pk in on, row.pk in only_read
            row.needs_review = row.needs_review and seen.get(row.pk) != row.fingerprint
            if words := differing(before, {name: getattr(row, name) for name in SWITCHES}):
                row.save(update_fields=[*SWITCHES, "updated_at"])
                changed.append(f"{row.name}: {words}")
        if changed:
            detail = f"tools: {'; '.join(sorted(changed))}"
            record_change("project_changed", project, by, address, detail)
    return len(changed)


def change(project: Project, by: User | None, *, address: str = UNKNOWN, **fields: object) -> None:
    """Changes name, target URL, servers, document URL, authentication or owner of a project.

    Credentials stay with the origin that they were entered for, and are not used for another one.
    Requests for approval are bound to where a call goes and what authenticates it: another target
    or authentication is another version. The row is compared under its lock: what the caller has
    read may be older than an import or another change.

    Raises InvalidTargetUrl and InvalidProject.
    """
    if "target_url" in fields:
        fields["target_url"] = outbound_policy.base_url(str(fields["target_url"]))
    if "servers" in fields:
        fields["servers"] = {
            declared: outbound_policy.base_url(url)
            for declared, url in servers.read(fields["servers"]).items()
        }
    if "document_url" in fields:
        fields["document_url"] = importing.url_to_keep(str(fields["document_url"]))
    if "name" in fields:
        fields["name"] = _clean_name(str(fields["name"]))
    try:
        with transaction.atomic():
            locked = Project.objects.select_for_update().get(pk=project.pk)
            before = {name: getattr(locked, name) for name in fields}
            changed = {name: value for name, value in fields.items() if before[name] != value}
            if not changed:
                return
            if not VERSIONED.isdisjoint(changed):
                locked.version += 1
            for name, value in changed.items():
                setattr(locked, name, value)
            locked.save(update_fields=[*changed, "version", "updated_at"])
            record_change("project_changed", locked, by, address, differing(before, changed))
    except IntegrityError:
        raise InvalidProject(_("The organization has a project of this name.")) from None
    except Project.DoesNotExist:
        raise InvalidProject(_("This project was deleted meanwhile.")) from None


def delete(project: Project, by: User | None, *, address: str = UNKNOWN) -> None:
    """Deletes a project with its tools, rules and credentials, and revokes the tokens for it."""
    with transaction.atomic():
        mcp_tokens.revoke_all(f"/{project.pk}", by, address=address)
        record_change("project_deleted", project, by, address, project.name)
        project.delete()


def touch(project_id: str) -> None:
    """Notes that tools or rules of a project changed; every process reads them again."""
    Project.objects.filter(pk=project_id).update(updated_at=timezone.now())


def has_tag(operation: OpenApiOperation, tags: Collection[str]) -> bool:
    """Returns whether an operation has one of these tags; an empty text stands for none."""
    return not {*tags}.isdisjoint(operation.tags or ("",))


def suggested_authentication(imported: Import) -> str:
    """Returns how calls are authenticated if the document declares that some have to be."""
    is_needed = any(any(operation.security) for operation in imported.operations)
    return Authentication.PERSON if is_needed else Authentication.NONE


def is_read(operation: OpenApiOperation, patterns: Sequence[str] = ()) -> bool:
    """Returns whether a tool only reads: by its method, or because a pattern names it."""
    named = any(fnmatchcase(operation.name, pattern) for pattern in patterns)
    return named or operation.method.upper() in READS


def _clean_name(name: str) -> str:
    name = name.strip()
    if not name or "\x00" in name:
        raise InvalidProject(_("Enter a name."))
    return name[: Project._meta.get_field("name").max_length]


def _first_rows(
    project: Project, imported: Import, reads: Sequence[str], tags: Collection[str] | None
) -> Iterator[ProjectTool]:
    """The tools of a new project, all but those without one of these tags on."""
    for operation in imported.operations:
        row = _row(project, operation, operation.name, reads)
        row.is_enabled = row.is_enabled and (tags is None or has_tag(operation, tags))
        yield row


def _row(
    project: Project, operation: OpenApiOperation, name: str, reads: Sequence[str] = ()
) -> ProjectTool:
    return ProjectTool(
        project=project,
        name=name,
        key=_key(operation),
        operation=_serialize_operation(operation),
        fingerprint=operation.fingerprint,
        is_enabled=not operation.is_deprecated,
        is_read=is_read(operation, reads),
    )


def _read_document(project: Project, text: str, draft: ImportDraft | None) -> Import:
    """What a document comes to, or the one of a draft, which has been read before."""
    if draft is not None:
        return read_draft(draft)
    return importing.read(text, project.organization_id).imported


def _remap_operations(
    project: Project, draft: ImportDraft | None
) -> Mapping[str, OpenApiOperation]:
    """The operations of the document in use by their keys, if older mappings made some of them.

    Mapping takes seconds: what the preview of an import has mapped is in its draft.
    """
    rows = project.tools.filter(is_present=True).values_list("operation", flat=True)
    document = project.documents.first()
    if document is None or not any(map(_is_older, rows.iterator())):
        return {}
    version = [str(document.pk), mapping.VERSION]
    if draft is not None and draft.fields.get("mapped_version") == version:
        imported = process.from_stored(draft.fields["mapped"])
    else:
        try:
            imported = importing.read(document.text, project.organization_id).imported
        except ReadingTimeUsed:
            raise
        except UnusableDocument:  # by the rules of now
            return {}
        if draft is not None:
            _keep_mapped(draft, version, imported)
    return {_key(operation): operation for operation in imported.operations}


def _keep_mapped(draft: ImportDraft, version: list[Any], imported: Import) -> None:
    mapped = escape_unstorable(process.as_stored(imported))
    draft.fields |= {"mapped_version": version, "mapped": mapped}
    # It may have been discarded meanwhile.
    ImportDraft.objects.filter(pk=draft.pk).update(fields=draft.fields)


def _is_older(stored: Mapping[str, Any]) -> bool:
    return bool(stored.get("mapping") != mapping.VERSION)


def _plan_changes(
    project: Project, operations: Sequence[OpenApiOperation], before: Mapping[str, OpenApiOperation]
) -> _Plan:
    """Matches operations with the tools that there are: by method and path, else by operationId."""
    plan, rows = _Plan(before), list(project.tools.all())
    by_key = {row.key: row for row in rows}
    keys = {_key(operation) for operation in operations}
    moved = _index_by_operation_id(row for row in rows if row.key not in keys and row.is_present)
    names = {row.name for row in rows}
    for operation in operations:
        row = by_key.get(_key(operation)) or moved.pop(operation.operation_id, None)
        if row is None:
            row = _row(project, operation, _free(operation.name, names))
            names.add(row.name)
            text = operation.description
            plan.changes.append(ToolChange("added", row.name, row.key, description=text))
        else:
            _update(row, operation, plan)
        plan.present[row.key] = row
    kept = {row.pk for row in plan.present.values()}
    for row in rows:
        if row.pk not in kept and row.is_present:
            row.is_present = False
            plan.absent.append(row)
            plan.changes.append(ToolChange("removed", row.name, row.key))
    return plan


def _update(row: ProjectTool, operation: OpenApiOperation, plan: _Plan) -> None:
    """Gives a row its operation in the new document."""
    stored = from_json(row.operation)
    before = plan.before.get(row.key, stored) if _is_older(row.operation) else stored
    known = row.fingerprint if before is stored else before.fingerprint
    # An operation of an earlier version has no server of its own: its calls went elsewhere.
    before = replace(before, server=stored.server)
    has_changed = known != operation.fingerprint or stored.server != operation.server
    if has_changed:
        details = differences.notes(before, operation)
        row.review_notes = [*row.review_notes, *details] if row.needs_review else details
        plan.changes.append(ToolChange("changed", row.name, _key(operation), details))
    elif not row.is_present:
        text = operation.description
        plan.changes.append(ToolChange("returned", row.name, _key(operation), description=text))
    if stored.method.upper() != operation.method.upper():
        row.is_read = is_read(operation)
    row.needs_review = row.needs_review or has_changed
    row.key, row.operation = _key(operation), _serialize_operation(operation)
    row.fingerprint, row.is_present = operation.fingerprint, True


def _key(operation: OpenApiOperation) -> str:
    """Method and path, shortened to what the column holds."""
    key = str(escape_unstorable(operation.key))
    if len(key) <= MAX_KEY_LENGTH:
        return key
    digest = ids.sha256_hex(key)
    return f"{key[: MAX_KEY_LENGTH - len(digest) - 1]} {digest}"


def _serialize_operation(operation: OpenApiOperation) -> Any:
    return escape_unstorable(as_json(operation))


def _index_by_operation_id(rows: Iterable[ProjectTool]) -> dict[str, ProjectTool]:
    found: dict[str, ProjectTool] = {}
    for row in rows:
        stored: Mapping[str, str] = row.operation
        if stored["operation_id"]:
            found[stored["operation_id"]] = row
    return found


def _free(name: str, taken: set[str]) -> str:
    """A name that no tool has: tools keep theirs, even those that left the document."""
    number, free = 1, name
    while free in taken:
        number += 1
        suffix = f"_{number}"
        free = f"{name[: MAX_NAME_LENGTH - len(suffix)]}{suffix}"
    return free


def _keep_document(project: Project, text: str, by: User | None) -> None:
    ProjectDocument.objects.create(
        project=project,
        version=project.version,
        text=text,
        sha256=ids.sha256_hex(text),
        imported_by=by,
    )
    # Here too: one import after the other would keep up to 16 MB each until the night.
    prune_documents(project)


def prune_documents(project: Project | None = None) -> int:
    """Deletes old texts of documents, of one project or of all; returns how many.

    The newest HALO_GATEWAY_KEPT_DOCUMENTS stay, and those that requests for approval were made with
    which are not decided yet.
    """
    rows = ProjectDocument.objects.filter(project=project) if project else ProjectDocument.objects
    keys = rows.order_by("project", "-version").values_list("project", "version", "pk")
    of_projects = policies.PROJECT_SURFACES.condition(project.pk if project else "")
    requested = requests.list_open_versions(of_projects)
    old: list[UUID] = []
    for project_id, documents in groupby(keys, key=itemgetter(0)):
        versions = requested.get(policies.PROJECT_SURFACES.name_of(project_id), set())
        newer: float = inf
        for place, (_project, version, key) in enumerate(documents):
            # Other changes of a project count as versions too, and have no document.
            is_requested = any(version <= one < newer for one in versions)
            if place >= settings.HALO_GATEWAY_KEPT_DOCUMENTS and not is_requested:
                old.append(key)
            newer = version
    return ProjectDocument.objects.filter(pk__in=old).delete()[0]


def differing(before: Mapping[str, Any], after: Mapping[str, Any]) -> str:
    """Returns the old and the new value of each column of `after` that differs, as text."""
    changed = [name for name in after if before[name] != after[name]]
    return ", ".join(f"{name}: {before[name]} -> {after[name]}" for name in changed)


def record_change(kind: str, project: Project, by: User | None, address: str, detail: str) -> None:
    """Records a change of a project as a security event, and in full in its history."""
    if by is not None and kind != "project_deleted":
        LogEntry.objects.log_actions(
            by.pk, [project], CHANGE, change_message=f"{kind}: {detail}", single_object=True
        )
    record.security_event(
        kind,
        address=address,
        subject=project.pk,
        organization_id=str(project.organization_id),
        user_id=str(by.pk) if by else "",
        detail=detail,
    )

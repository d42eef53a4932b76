"""The pages of approver groups, which admins make and change and the rules of policies name."""

from collections.abc import Sequence
from http import HTTPStatus
from typing import Any, Final
from uuid import UUID

from django import forms
from django.contrib import messages
from django.db import IntegrityError, transaction
from django.http import Http404, HttpRequest, HttpResponse
from django.shortcuts import redirect, render
from django.urls import reverse
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy
from django.views.decorators.http import require_http_methods, require_POST

from console import organization_choice
from console.gateway.access import for_members
from console.kept_forms import CONFIRMED
from console.members import people_choice
from console.organization_choice import OrganizationField
from foundation import ids
from foundation.stale_forms import ComparedForm, StaleForm
from gateway.models import ApproverGroup, PolicyRule
from gateway.rules import groups
from gateway.rules.editing import Editor
from gateway.rules.groups import GroupInUse, TooManyGroups
from oauth.endpoints import replies
from workspace.administration.access import organizations_administered
from workspace.administration.scoped import events_url
from workspace.models import User

KNOWN_NAME: Final = gettext_lazy("The organization has a group of this name.")


class NewGroupForm(forms.Form):
    """What an admin enters for a new group; its members are chosen on its page."""

    organization = OrganizationField()
    name = forms.CharField(label=gettext_lazy("Name"), max_length=150)

    def __init__(self, user: User, *given: Any) -> None:
        super().__init__(*given)
        organization_choice.offer(self, organizations_administered(user))


class GroupForm(ComparedForm):
    """The name and the members of a group."""

    name = forms.CharField(label=gettext_lazy("Name"), max_length=150)
    members = forms.ModelMultipleChoiceField(
        User.objects.none(),
        label=gettext_lazy("Members"),
        required=False,
        widget=forms.CheckboxSelectMultiple,
    )

    def __init__(self, group: ApproverGroup, *given: Any) -> None:
        chosen = [*group.members.all()]
        super().__init__(*given, initial={"name": group.name, "members": chosen})
        people_choice.offer(
            self.fields["members"], group.organization_id, [one.pk for one in chosen]
        )


@require_http_methods(["GET", "HEAD", "POST"])
@for_members
def index(request: HttpRequest, user: User) -> HttpResponse:
    """Lists the groups; POST makes one."""
    if not organizations_administered(user):
        raise Http404
    form = NewGroupForm(user, request.POST or None)
    if form.is_valid():
        try:
            with transaction.atomic():
                made = groups.add(
                    form.cleaned_data["organization"],
                    form.cleaned_data["name"],
                    _editor(request, user),
                )
        except IntegrityError:
            form.add_error("name", KNOWN_NAME)
        except TooManyGroups:
            form.add_error("name", _("The organization has too many groups. Delete one first."))
        else:
            return redirect("approver_group", made.pk)
    context = {"form": form, "groups": groups.groups_of(user).prefetch_related("members")}
    status = HTTPStatus.BAD_REQUEST if form.errors else HTTPStatus.OK
    return render(request, "console/gateway/approver_groups.html", context, status=status)


@require_http_methods(["GET", "HEAD", "POST"])
@for_members
@transaction.atomic
def one(request: HttpRequest, user: User, group_id: UUID) -> HttpResponse:
    """Shows a group to change it; POST saves it. More approvers of a rule are confirmed first."""
    group = _find_group(user, group_id)
    if request.method != "POST":
        return _page(request, group, GroupForm(group))
    form = GroupForm(group, request.POST)
    try:
        if not form.is_valid():
            return _page(request, group, form)
    except StaleForm as refused:
        address = reverse("approver_group", args=[group.pk])
        context = {"changes": refused.changes, "history": [], "page": address}
        return render(request, "console/stale_form.html", context, status=HTTPStatus.CONFLICT)
    name, members = form.cleaned_data["name"], [*form.cleaned_data["members"]]
    rules, added = groups.rules_naming(group), _find_added(group, members)
    digest = ids.sha256_hex(repr([[str(row.pk) for row in rows] for rows in (rules, added)]))
    if rules and added and request.POST.get(CONFIRMED) != digest:
        return _page(request, group, form, added=added, digest=digest)
    try:
        with transaction.atomic():
            groups.change(group, name, members, _editor(request, user))
    except IntegrityError:
        form.add_error("name", KNOWN_NAME)
        return _page(request, group, form)
    messages.success(request, _("Saved. It applies to requests that wait, too."))
    return redirect("approver_group", group.pk)


@require_POST
@for_members
def delete(request: HttpRequest, user: User, group_id: UUID) -> HttpResponse:
    """Deletes a group that no rule names."""
    group = groups.groups_of(user).filter(pk=group_id).first()
    if group is None:
        messages.info(request, _("The group was already deleted."))
        return redirect("approver_groups")
    try:
        groups.delete(group, _editor(request, user))
    except GroupInUse:
        messages.error(request, _("Nothing was deleted: rules name the group. Change them first."))
        return redirect("approver_group", group_id)
    messages.success(request, _("The group was deleted."))
    return redirect("approver_groups")


def _find_group(user: User, group_id: UUID) -> ApproverGroup:
    """The group, locked until the transaction ends. Raises Http404 for those of others."""
    row = groups.groups_of(user).select_for_update(of=("self",)).filter(pk=group_id).first()
    if row is None:
        raise Http404
    return row


def _find_added(group: ApproverGroup, members: Sequence[User]) -> list[User]:
    before = {*group.members.values_list("pk", flat=True)}
    return [person for person in members if person.pk not in before]


def _page(request: HttpRequest, group: ApproverGroup, form: GroupForm, **more: Any) -> HttpResponse:
    rules: Sequence[PolicyRule] = groups.rules_naming(group)
    able = people_choice.list_people_who_can_sign_in(group.organization_id)
    context = {
        "group": group,
        "form": form,
        "rules": rules,
        "has_members": able.filter(pk__in=group.members.values("pk")).exists(),
        "history_url": events_url(request, subject=str(group.pk)),
        **more,
    }
    status = HTTPStatus.BAD_REQUEST if form.errors else HTTPStatus.OK
    return render(request, "console/gateway/approver_group.html", context, status=status)


def _editor(request: HttpRequest, user: User) -> Editor:
    return Editor(user, replies.address_of(request))

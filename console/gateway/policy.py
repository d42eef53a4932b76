"""The page of a project's policy: its rules in order, the defaults, and a preview of a rule."""

from collections.abc import Callable
from functools import wraps
from http import HTTPStatus
from typing import Any, Final, TypeAlias
from uuid import UUID

from django import forms
from django.contrib import messages
from django.contrib.auth.views import redirect_to_login
from django.core.exceptions import ValidationError
from django.http import Http404, HttpRequest, HttpResponse
from django.shortcuts import redirect, render
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy
from django.views.decorators.http import require_http_methods, require_POST

from gateway import access, policies
from gateway.models import ApproverGroup, Effect, PolicyRule, Project
from gateway.rules import conditions, editing
from gateway.rules.conditions import Condition, InvalidCondition
from gateway.rules.editing import Editor, RuleFacts, TooManyRules
from oauth.endpoints import replies
from workspace.models import Role, User

# With further parameters from the address, by name.
View: TypeAlias = Callable[..., HttpResponse]
STEPS: Final = {"up": -1, "down": 1}
MAX_TEXT: Final = 4_000
MAX_MINUTES: Final = 60 * 24 * 30


class RuleForm(forms.Form):
    """One rule, as an admin of the organization enters it."""

    pattern = forms.CharField(label=gettext_lazy("Tools"), max_length=100)
    effect = forms.ChoiceField(label=gettext_lazy("Effect"), choices=Effect.choices)
    conditions = forms.CharField(
        label=gettext_lazy("Conditions"), required=False, max_length=MAX_TEXT
    )
    approvers = forms.ModelMultipleChoiceField(
        User.objects.none(), label=gettext_lazy("People"), required=False
    )
    approver_groups = forms.ModelMultipleChoiceField(
        ApproverGroup.objects.none(), label=gettext_lazy("Groups"), required=False
    )
    approver_roles = forms.MultipleChoiceField(
        label=gettext_lazy("Roles"), choices=Role.choices, required=False
    )

    def __init__(self, project: Project, *given: Any, **more: Any) -> None:
        super().__init__(*given, **more)
        members = User.objects.filter(memberships__organization=project.organization_id)
        groups = ApproverGroup.objects.filter(organization=project.organization_id)
        self.fields["approvers"].queryset = members.order_by("email")  # type: ignore[attr-defined]  # a ModelMultipleChoiceField
        self.fields["approver_groups"].queryset = groups  # type: ignore[attr-defined]  # the same

    def clean_conditions(self) -> list[Condition]:
        try:
            return conditions.parse(self.cleaned_data["conditions"])
        except InvalidCondition as invalid:
            raise ValidationError(str(invalid)) from invalid

    def facts(self) -> RuleFacts:
        given = self.cleaned_data
        return RuleFacts(**{**given, "effect": Effect(given["effect"])})


class DefaultsForm(forms.ModelForm):  # type: ignore[type-arg]
    """What happens to calls that no rule matches, and how their requests are decided."""

    approval_minutes = forms.IntegerField(
        label=gettext_lazy("Minutes to approve"), min_value=1, max_value=MAX_MINUTES
    )

    class Meta:
        model = Project
        fields = ("reads", "writes", "self_approval", "approval_minutes")


def _for_admins(page: View) -> View:
    """Requires sign-in by an admin of the project's organization; others get 404."""

    @wraps(page)
    def guarded(request: HttpRequest, project_id: str, **rest: UUID) -> HttpResponse:
        if not isinstance(request.user, User):
            return redirect_to_login(request.get_full_path())
        try:
            project = access.editable_project_for(request.user, project_id)
        except Project.DoesNotExist:
            raise Http404 from None
        return replies.private(page(request, project, **rest))

    return guarded


@require_http_methods(["GET", "HEAD", "POST"])
@_for_admins
def index(request: HttpRequest, project: Project) -> HttpResponse:
    """Shows the policy; POST adds a rule, or previews it."""
    if request.method != "POST":
        return _page(request, project, RuleForm(project, initial={"pattern": "*"}))
    return _entered(request, project, None)


@require_http_methods(["GET", "HEAD", "POST"])
@_for_admins
def rule(request: HttpRequest, project: Project, rule_id: UUID) -> HttpResponse:
    """Shows one rule to change it; POST saves or previews it."""
    row = _rule(project, rule_id)
    if request.method != "POST":
        return _page(request, project, RuleForm(project, initial=_initial(row)), row)
    return _entered(request, project, row)


@require_POST
@_for_admins
def move(request: HttpRequest, project: Project, rule_id: UUID) -> HttpResponse:
    """Moves a rule up or down."""
    row, steps = _rule(project, rule_id), STEPS.get(request.POST.get("to", ""), 0)
    if steps:
        editing.move(row, steps, _editor(request))
    return redirect("project_policy", project.pk)


@require_POST
@_for_admins
def delete(request: HttpRequest, project: Project, rule_id: UUID) -> HttpResponse:
    """Deletes a rule."""
    editing.delete(_rule(project, rule_id), _editor(request))
    messages.success(request, _("The rule was deleted."))
    return redirect("project_policy", project.pk)


@require_POST
@_for_admins
def defaults(request: HttpRequest, project: Project) -> HttpResponse:
    """Saves the defaults."""
    form = DefaultsForm(request.POST, instance=Project.objects.get(pk=project.pk))
    if not form.is_valid():
        empty = RuleForm(project, initial={"pattern": "*"})
        return _page(request, project, empty, defaults=form)
    editing.set_defaults(project, _editor(request), **form.cleaned_data)
    messages.success(request, _("Saved. It applies from the next call on."))
    return redirect("project_policy", project.pk)


def _entered(request: HttpRequest, project: Project, row: PolicyRule | None) -> HttpResponse:
    form = RuleForm(project, request.POST)
    if not form.is_valid():
        return _page(request, project, form, row)
    facts = form.facts()
    if "preview" in request.POST:
        policy = policies.read(project.pk)
        changed = editing.with_rule(policy, facts, row.pk if row else None)
        replayed = editing.replay(project, policy, changed)
        return _page(request, project, form, row, replay=replayed)
    try:
        if row is None:
            editing.add(project, facts, _editor(request))
        else:
            editing.change(row, facts, _editor(request))
    except TooManyRules:
        form.add_error("pattern", _("The policy has too many rules. Delete one first."))
        return _page(request, project, form, row)
    messages.success(request, _("Saved. It applies from the next call on."))
    return redirect("project_policy", project.pk)


def _page(
    request: HttpRequest,
    project: Project,
    form: RuleForm,
    row: PolicyRule | None = None,
    **more: Any,
) -> HttpResponse:
    rows = editing.rules_of(project)
    context = {
        "project": project,
        "rules": [(one, conditions.written(one.conditions)) for one in rows],
        "form": form,
        "approver_fields": [form[f"approver{rest}"] for rest in ("s", "_groups", "_roles")],
        "row": row,
        "defaults": DefaultsForm(instance=project),
        **more,
    }
    is_invalid = form.is_bound and not form.is_valid()
    status = HTTPStatus.BAD_REQUEST if is_invalid or "defaults" in more else HTTPStatus.OK
    return render(request, "console/gateway/policy.html", context, status=status)


def _initial(row: PolicyRule) -> dict[str, Any]:
    return {
        "pattern": row.pattern,
        "effect": row.effect,
        "conditions": conditions.written(row.conditions),
        "approvers": [*row.approvers.all()],
        "approver_groups": [*row.approver_groups.all()],
        "approver_roles": row.approver_roles,
    }


def _rule(project: Project, rule_id: UUID) -> PolicyRule:
    row = PolicyRule.objects.select_related("project").filter(project=project, pk=rule_id).first()
    if row is None:
        raise Http404
    return row


def _editor(request: HttpRequest) -> Editor:
    if not isinstance(request.user, User):
        raise Http404
    return Editor(request.user, replies.address_of(request))

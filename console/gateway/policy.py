"""The page of a project's policy: its rules in order, the defaults, and a preview of a rule."""

from collections.abc import Callable, Sequence
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
from django.urls import reverse
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy
from django.views.decorators.http import require_http_methods, require_POST

from console.gateway import policy_changes
from console.gateway.access import save_form
from console.members import people_choice
from foundation import ids, stale_forms
from foundation.stale_forms import ComparedForm, FormValue, ShownValues, StaleForm
from gateway import access, policies
from gateway.models import ApproverGroup, Effect, PolicyRule, Project
from gateway.rules import conditions, editing, opening
from gateway.rules.conditions import InvalidCondition
from gateway.rules.editing import Editor, RuleFacts, TooManyRules
from oauth.endpoints import replies
from workspace.administration.scoped import events_url
from workspace.models import Role, User

# With further parameters from the address, by name.
View: TypeAlias = Callable[..., HttpResponse]
STEPS: Final = {"up": -1, "down": 1}
RULES: Final = "rules"
MAX_TEXT: Final = 4_000
MAX_MINUTES: Final = 60 * 24 * 30


class RuleForm(ComparedForm):
    """One rule, as an admin of the organization enters it."""

    pattern = forms.CharField(label=gettext_lazy("Tools"), max_length=100)
    # No effect is chosen at first: a form that nobody filled in opens nothing.
    effect = forms.ChoiceField(
        label=gettext_lazy("Effect"),
        choices=[("", gettext_lazy("Choose an effect")), *Effect.choices],
    )
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
        chosen = [one.pk for one in self.initial.get("approvers", ())]
        people_choice.offer(self.fields["approvers"], project.organization_id, chosen)
        groups = ApproverGroup.objects.filter(organization=project.organization_id)
        self.fields["approver_groups"].queryset = groups  # type: ignore[attr-defined]  # a ModelMultipleChoiceField
        if not groups.exists():  # an empty box offers nothing
            del self.fields["approver_groups"]

    def clean_conditions(self) -> str:
        """Returns the conditions as the page shows them once they are saved."""
        try:
            parsed = conditions.parse(self.cleaned_data["conditions"])
        except InvalidCondition as invalid:
            raise ValidationError(str(invalid)) from invalid
        return conditions.to_text([one.as_json() for one in parsed])

    def facts(self) -> RuleFacts:
        given = self.cleaned_data
        read = {
            "effect": Effect(given["effect"]),
            "conditions": conditions.parse(given["conditions"]),
        }
        return RuleFacts(**{**given, **read})


class DefaultsForm(ComparedForm, forms.ModelForm):  # type: ignore[type-arg]
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
    def wrapper(request: HttpRequest, project_id: str, **rest: UUID) -> HttpResponse:
        if not isinstance(request.user, User):
            return redirect_to_login(request.get_full_path())
        try:
            project = access.editable_project_for(request.user, project_id)
        except Project.DoesNotExist:
            raise Http404 from None
        if request.method != "POST":
            return replies.private(page(request, project, **rest))
        address = reverse("project_policy", args=[project.pk])
        saved = save_form(
            request,
            project,
            address,
            lambda locked: policy_changes.confirm_and_save(
                request, locked, lambda: page(request, locked, **rest)
            ),
        )
        return replies.private(saved)

    return wrapper


@require_http_methods(["GET", "HEAD", "POST"])
@_for_admins
def index(request: HttpRequest, project: Project) -> HttpResponse:
    """Shows the policy; POST adds a rule, or previews it."""
    if request.method != "POST":
        return _page(request, project, _form(project, None))
    return _process_rule_form(request, project, None)


@require_http_methods(["GET", "HEAD", "POST"])
@_for_admins
def rule(request: HttpRequest, project: Project, rule_id: UUID) -> HttpResponse:
    """Shows one rule to change it; POST saves or previews it."""
    if request.method == "POST" and not project.rules.filter(pk=rule_id).exists():
        _require_shown(request, project)  # deleted meanwhile
    row = _rule(project, rule_id)
    if request.method != "POST":
        return _page(request, project, _form(project, row), row)
    return _process_rule_form(request, project, row)


@require_POST
@_for_admins
def move(request: HttpRequest, project: Project, rule_id: UUID) -> HttpResponse:
    """Moves a rule up or down; one that the same button has moved already stays."""
    steps = STEPS.get(request.POST.get("to", ""), 0)
    rules = editing.rules_of(project)
    row = next((one for one in rules if one.pk == rule_id), None)
    back = editing.reorder(rules, row, -steps) if row and steps else rules
    if back == rules or not _has_shown(request, back):
        _require_shown(request, project)
        if steps:
            editing.move(_rule(project, rule_id), steps, _editor(request))
    return redirect("project_policy", project.pk)


@require_POST
@_for_admins
def delete(request: HttpRequest, project: Project, rule_id: UUID) -> HttpResponse:
    """Deletes a rule; one that was deleted meanwhile is no error."""
    row = PolicyRule.objects.select_related("project").filter(project=project, pk=rule_id).first()
    if row is None:
        messages.info(request, _("The rule was already deleted."))
    else:
        _require_shown(request, project)
        editing.delete(row, _editor(request))
        messages.success(request, _("The rule was deleted."))
    return redirect("project_policy", project.pk)


@require_POST
@_for_admins
def undo(request: HttpRequest, project: Project) -> HttpResponse:
    """Undoes the person's last change, unless the policy has changed since."""
    return policy_changes.undo(request, project, _editor(request))


@require_POST
@_for_admins
def defaults(request: HttpRequest, project: Project) -> HttpResponse:
    """Saves the defaults."""
    form = DefaultsForm(request.POST, instance=Project.objects.get(pk=project.pk))
    if not form.is_valid():
        return _page(request, project, _form(project, None), defaults=form)
    editing.set_defaults(project, _editor(request), **form.cleaned_data)
    return _redirect_after_save(request, project)


def _process_rule_form(
    request: HttpRequest, project: Project, row: PolicyRule | None
) -> HttpResponse:
    form = _form(project, row, request.POST)
    try:
        if not form.is_valid():
            return _page(request, project, form, row)
    except StaleForm:
        if row is not None or not _was_added(request, project, form):
            raise
        return _redirect_after_save(request, project)
    facts = form.facts()
    if "preview" in request.POST:
        policy = policies.read(project.pk)
        changed = editing.with_rule(policy, facts, row.pk if row else None)
        replayed = editing.replay(project, policy, changed)
        reach = opening.reaches(project, changed)[row.pk if row else None]
        return _page(request, project, form, row, replay=replayed, reach=reach)
    try:
        if row is None:
            editing.add(project, facts, _editor(request))
        else:
            editing.change(row, facts, _editor(request))
    except TooManyRules:
        form.add_error("pattern", _("The policy has too many rules. Delete one first."))
        return _page(request, project, form, row)
    return _redirect_after_save(request, project)


def _was_added(request: HttpRequest, project: Project, form: RuleForm) -> bool:
    """Returns whether the rules are those that a page showed, and after them the one it entered.

    The second click of a double click would add it twice.
    """
    rules = editing.rules_of(project)
    if form.errors or not rules or "preview" in request.POST:
        return False
    return _has_shown(request, rules[:-1]) and editing.is_as_entered(rules[-1], form.facts())


def _redirect_after_save(request: HttpRequest, project: Project) -> HttpResponse:
    messages.success(request, _("Saved. It applies from the next call on."))
    return redirect("project_policy", project.pk)


def _page(
    request: HttpRequest,
    project: Project,
    form: RuleForm,
    row: PolicyRule | None = None,
    **more: Any,
) -> HttpResponse:
    rows, reaches = editing.rules_of(project), opening.reaches(project)
    context = {
        "project": project,
        "rules": [(one, conditions.to_text(one.conditions), reaches[one.pk]) for one in rows],
        "can_undo": policy_changes.can_undo(request, project),
        "history_url": events_url(request, subject=project.pk, topic="policies"),
        "form": form,
        "approver_fields": [field for field in form if field.name.startswith("approver")],
        "row": row,
        "defaults": DefaultsForm(instance=project),
        "rules_shown": stale_forms.hidden_field(stale_forms.serialize(_compared_rules(rows))),
        **more,
    }
    is_invalid = form.is_bound and not form.is_valid()
    status = HTTPStatus.BAD_REQUEST if is_invalid or "defaults" in more else HTTPStatus.OK
    return render(request, "console/gateway/policy.html", context, status=status)


def _form(project: Project, row: PolicyRule | None, data: Any = None) -> RuleForm:
    """The form of a rule, or of a new one. What a rule does depends on those around it."""
    initial = _initial(row) if row else {}
    rules = _compared_rules(editing.rules_of(project), row)
    return RuleForm(project, data, initial=initial, also_shown=rules)


def _compared_rules(
    rules: Sequence[PolicyRule], edited: PolicyRule | None = None
) -> dict[str, FormValue]:
    """The rules as a value of a form, without what its own fields say of one that is edited.

    It is a digest: a page with many rules has it in a form for each of them.
    """
    before = [one for one in rules if edited and one.position < edited.position]
    others = [one for one in rules if one != edited]
    text = editing.describe_rules(others)
    keys = [str(one.pk) for one in others]
    digest = ids.sha256_hex(f"{len(before)} of {len(rules)}\n{keys}\n{text}")
    return {RULES: FormValue(_("Rules"), digest, text=text or stale_forms.NO_VALUE)}


def _has_shown(request: HttpRequest, rules: Sequence[PolicyRule]) -> bool:
    """Returns whether the page of a form showed these rules."""
    shown = ShownValues.parse(request.POST.get(stale_forms.FIELD, ""))
    return bool(shown.values.get(RULES) == _compared_rules(rules)[RULES].value)


def _require_shown(request: HttpRequest, project: Project) -> None:
    """Raises StaleForm if the rules are not those that the page of a button showed."""
    now = _compared_rules(editing.rules_of(project))
    stale_forms.compare(request.POST.get(stale_forms.FIELD, ""), now)


def _initial(row: PolicyRule) -> dict[str, Any]:
    return {
        "pattern": row.pattern,
        "effect": row.effect,
        "conditions": conditions.to_text(row.conditions),
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

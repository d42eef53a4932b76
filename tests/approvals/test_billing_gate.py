"""The one way past the destructive layer: a request that is being carried out, and nothing else."""

import ast
from dataclasses import replace
from uuid import uuid4

import pytest
from django.utils import timezone
from hypothesis import given
from hypothesis import strategies as st

from approvals.models import ApprovalRequest, ApprovalStatus
from oauth import scopes
from tests.architecture import sources
from tests.drivers import billing
from tests.drivers.billing import ASKING, PERFORMING, RefundCase
from tests.drivers.fake_vendors.stripe import Stripe
from tests.drivers.mcp import McpClient
from tools_registry import registry
from tools_registry.endpoint.surface import WORKSPACE_SURFACE
from tools_registry.pipeline import gate
from tools_registry.pipeline.gate import Approval, Integration, Switches


@pytest.fixture
def case(mcp: McpClient, stripe: Stripe) -> RefundCase:
    return billing.request_refund(mcp, stripe)


SCOPES = st.lists(
    st.sampled_from(
        [
            "actions:*",
            "actions:stripe:*",
            "docs:read",
            *(f"actions:stripe:{action}" for action in (*ASKING, *PERFORMING)),
        ]
    ),
    max_size=8,
)
ON = Integration(actions_on=True, connected=True, enabled_actions=frozenset(ASKING + PERFORMING))
ALL_ON = Switches(integrations={"stripe": ON})


@given(held=SCOPES, action=st.sampled_from(PERFORMING))
def test_no_scope_whatever_opens_what_is_destructive(held: list[str], action: str) -> None:
    tool = registry.WORKSPACE_CATALOGUE.find(f"stripe.{action}", uuid4())
    assert tool is not None
    decision = gate.decide(tool, scopes.parse(" ".join(held)), ALL_ON, WORKSPACE_SURFACE)
    assert (decision.allowed, decision.reason) == (False, "destructive_blocked")


@pytest.mark.parametrize("wrong", ["claim", "status", "action"])
def test_an_approval_without_its_row_under_way_opens_nothing(case: RefundCase, wrong: str) -> None:
    claim = uuid4()
    status = ApprovalStatus.PENDING if wrong == "status" else ApprovalStatus.RUNNING
    ApprovalRequest.objects.update(status=status, claim=claim, claimed_at=timezone.now())
    requested_with = registry.WORKSPACE_CATALOGUE.find("stripe.request_refund", uuid4())
    assert requested_with is not None
    held = uuid4() if wrong == "claim" else claim
    approval = Approval(case.row().pk, held, requested_with, scopes.parse("actions:*"))
    action = "credit_customer" if wrong == "action" else "refund"
    tool = registry.WORKSPACE_CATALOGUE.find(f"stripe.{action}", uuid4())
    assert tool is not None
    decision = gate.decide_approved(tool, approval, ALL_ON, WORKSPACE_SURFACE)
    assert (decision.allowed, decision.reason) == (False, "destructive_blocked")


@pytest.mark.parametrize("missing", [["destructive"], ["scope"], ["destructive", "scope"]])
def test_a_surface_without_these_layers_needs_the_approval_all_the_same(
    case: RefundCase, missing: list[str]
) -> None:
    layers = {name: ask for name, ask in gate.DEFAULT_LAYERS.items() if name not in missing}
    without = replace(WORKSPACE_SURFACE, layers=layers)
    requested_with = registry.WORKSPACE_CATALOGUE.find("stripe.request_refund", uuid4())
    tool = registry.WORKSPACE_CATALOGUE.find("stripe.refund", uuid4())
    assert requested_with is not None
    assert tool is not None
    forged = Approval(case.row().pk, uuid4(), requested_with, scopes.parse("actions:*"))
    assert not gate.decide_approved(tool, forged, ALL_ON, without).allowed
    claim = uuid4()
    ApprovalRequest.objects.update(status=ApprovalStatus.RUNNING, claim=claim)
    ended = Approval(case.row().pk, claim, requested_with, None)
    assert gate.decide_approved(tool, ended, ALL_ON, without).reason == "grant_ended"
    held = Approval(case.row().pk, claim, requested_with, scopes.parse("actions:*"))
    assert gate.decide_approved(tool, held, ALL_ON, without).allowed


def test_only_an_admin_s_decision_makes_an_approval() -> None:
    made = {
        path
        for path, tree in sources.modules().items()
        for node in ast.walk(tree)
        if isinstance(node, ast.Call) and getattr(node.func, "id", "") == "Approval"
    }
    assert made == {"approvals/execution.py"}  # of a claim, which only a decision writes

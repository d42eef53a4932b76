"""The one way past the destructive layer: a request that is being carried out, and nothing else."""

import ast
from uuid import uuid4

import pytest
from django.utils import timezone
from hypothesis import given
from hypothesis import strategies as st

from oauth import scopes
from tests.architecture import sources
from tests.drivers import billing
from tests.drivers.billing import ASKING, PERFORMING, Case
from tests.drivers.mcp import McpClient
from tests.drivers.standins.stripe import Stripe
from tools_registry import gate, registry
from tools_registry.billing.models import BillingRequest, Status
from tools_registry.gate import Approval, Integration, Switches


@pytest.fixture
def case(mcp: McpClient, stripe: Stripe) -> Case:
    return billing.asked(mcp, stripe)


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
    tool = registry.find(f"stripe.{action}", uuid4())
    assert tool is not None
    decision = gate.decide(tool, scopes.parse(" ".join(held)), ALL_ON)
    assert (decision.allowed, decision.reason) == (False, "destructive_blocked")


@pytest.mark.parametrize("wrong", ["claim", "status", "action"])
def test_an_approval_without_its_row_under_way_opens_nothing(case: Case, wrong: str) -> None:
    claim = uuid4()
    status = Status.PENDING if wrong == "status" else Status.RUNNING
    BillingRequest.objects.update(status=status, claim=claim, claimed_at=timezone.now())
    filed_as = registry.find("stripe.request_refund", uuid4())
    assert filed_as is not None
    held = uuid4() if wrong == "claim" else claim
    approval = Approval(case.row().pk, held, filed_as, scopes.parse("actions:*"))
    action = "credit_customer" if wrong == "action" else "refund"
    tool = registry.find(f"stripe.{action}", uuid4())
    assert tool is not None
    decision = gate.decide_approved(tool, approval, ALL_ON)
    assert (decision.allowed, decision.reason) == (False, "destructive_blocked")


def test_only_an_admin_s_decision_makes_an_approval() -> None:
    made = {
        path
        for path, tree in sources.modules().items()
        for node in ast.walk(tree)
        if isinstance(node, ast.Call) and getattr(node.func, "id", "") == "Approval"
    }
    assert made == {"tools_registry/billing/approvals.py"}

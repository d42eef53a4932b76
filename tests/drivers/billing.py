"""An organization with a fake Stripe, its switches, and the people who decide."""

from dataclasses import dataclass
from typing import Any

from django.contrib.auth.models import Permission
from django.test import Client

from approvals.models import ApprovalRequest
from foundation.admin_urls import page_url
from tests.drivers.fake_vendors import stripe
from tests.drivers.fake_vendors.stripe import Stripe
from tests.drivers.grants import Grant
from tests.drivers.mcp import McpClient
from tools_registry.models import IntegrationMode
from tools_registry.vendors import credentials
from workspace.models import User

ASKING = ("request_refund", "request_cancellation", "request_credit", "extend_trial")
PERFORMING = ("refund", "cancel_subscription", "credit_customer", "set_trial_end")


def connect(grant: Grant, *, enabled: tuple[str, ...] = ASKING, secret: str = stripe.KEY) -> None:
    """Connect the organization to Stripe with these actions on."""
    grant.connect("stripe", enabled=enabled)
    mode = IntegrationMode.objects.get(organization=grant.organization, integration="stripe")
    credentials.store(mode, secret)


def admin(name: str, *rights: str) -> User:
    """Somebody who may open the admin, see billing requests, and what else is named."""
    return _with_rights(User.objects.create_user(f"{name}@example.com"), *rights)


def decider(name: str = "boss") -> User:
    return admin(name, "decide_approvalrequest")


def make_decider(user: User) -> User:
    return _with_rights(user, "decide_approvalrequest")


def root() -> User:
    return User.objects.create_superuser("root@example.com")


def browser_of(user: User) -> Client:
    """The browser of somebody who has signed in."""
    client = Client()
    client.force_login(user)
    return client


@dataclass(frozen=True)
class RefundCase:
    """A refund that is asked for, and an admin at their desk."""

    mcp: McpClient
    stripe: Stripe
    charge: str
    request_id: str
    admin: User
    desk: Client

    def ask(self, **more: Any) -> Any:
        """Ask for the refund again."""
        return self.mcp.call("stripe.request_refund", {"payment": self.charge, **more}).facts

    def row(self, request_id: str = "") -> ApprovalRequest:
        return ApprovalRequest.objects.get(pk=request_id or self.request_id)

    def url(self, word: str, request_id: str = "") -> str:
        return page_url(f"approvals_approvalrequest_{word}", request_id or self.request_id)

    def approve(self, request_id: str = "") -> ApprovalRequest:
        """Press the button; the request as it is then."""
        reply = self.desk.post(self.url("approve", request_id))
        assert reply.status_code == 302, reply.content
        return self.row(request_id)


def request_refund(mcp: McpClient, stripe: Stripe, **more: Any) -> RefundCase:
    """A refund of 20.00 USD that waits for a decision."""
    charge = stripe.charge(2000)
    filed = mcp.call("stripe.request_refund", {"payment": charge, **more}).facts
    boss = decider()
    return RefundCase(mcp, stripe, charge, filed["request_id"], boss, browser_of(boss))


def _with_rights(user: User, *rights: str) -> User:
    user.is_staff = True
    user.save()
    wanted = ("view_approvalrequest", *rights)
    user.user_permissions.set(Permission.objects.filter(codename__in=wanted))
    return user

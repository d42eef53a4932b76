"""All vendors at once, each a fake on the loopback."""

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass

from tests.drivers.fake_vendors import contract, linear, stripe
from tests.drivers.fake_vendors.hubspot import HubSpot
from tests.drivers.fake_vendors.linear import Linear
from tests.drivers.fake_vendors.slack import Slack
from tests.drivers.fake_vendors.stripe import Stripe
from tests.drivers.servers import vendor_port


@dataclass(frozen=True)
class AllVendors:
    """What each has received."""

    hubspot: HubSpot
    linear: Linear
    slack: Slack
    stripe: Stripe

    def received_requests(self, name: str) -> list[str]:
        """Every request to one of them, as its line and what it carried."""
        if name == "stripe":
            return [f"{sent.method} {sent.path} {dict(sent.form)}" for sent in self.stripe.sent]
        seen = getattr(self, name).seen
        return [f"{each.method} {each.path} {each.body.decode()}" for each in seen]


@contextmanager
def open_vendors(env: Mapping[str, str]) -> Iterator[AllVendors]:
    """They answer where the server with this environment looks for them, until the block ends.

    No request may have broken a contract.
    """
    hubspot, slack = HubSpot(vendor_port(env, "hubspot")), Slack(vendor_port(env, "slack"))
    with (
        contract.serving(hubspot),
        contract.serving(slack),
        linear.serving(vendor_port(env, "linear")) as linear_,
        stripe.serving(vendor_port(env, "stripe")) as (stripe_, _url),
    ):
        yield AllVendors(hubspot, linear_, slack, stripe_)

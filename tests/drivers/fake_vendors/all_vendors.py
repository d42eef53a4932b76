"""All vendors at once, each a fake on the loopback."""

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass

from tests.drivers.fake_vendors import contract, linear, stripe
from tests.drivers.fake_vendors.hubspot import HubSpot
from tests.drivers.fake_vendors.linear import Linear
from tests.drivers.fake_vendors.slack import Slack
from tests.drivers.fake_vendors.stripe import Stripe


@dataclass(frozen=True)
class AllVendors:
    """Where they are, and what each has received."""

    hubspot: HubSpot
    linear: Linear
    slack: Slack
    stripe: Stripe
    stripe_url: str

    @property
    def env(self) -> dict[str, str]:
        """What a server needs to find them."""
        urls = {name: getattr(self, name).url for name in ("hubspot", "linear", "slack")}
        urls["stripe"] = self.stripe_url
        return {"HALO_VENDOR_URLS": ",".join(f"{name}={url}" for name, url in urls.items())}

    def received(self, name: str) -> list[str]:
        """Every request to one of them, as its line and what it carried."""
        if name == "stripe":
            return [f"{sent.method} {sent.path} {dict(sent.form)}" for sent in self.stripe.sent]
        seen = getattr(self, name).seen
        return [f"{each.method} {each.path} {each.body.decode()}" for each in seen]


@contextmanager
def opened() -> Iterator[AllVendors]:
    """They answer for as long as the block runs, and no request may have broken a contract."""
    hubspot, slack = HubSpot(), Slack()
    with (
        contract.serving(hubspot),
        contract.serving(slack),
        linear.serving() as linear_,
        stripe.serving() as (stripe_, url),
    ):
        yield AllVendors(hubspot, linear_, slack, stripe_, url)

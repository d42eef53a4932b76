"""An organization of a test's own on a server that many tests share."""

import json
from collections.abc import Mapping
from dataclasses import dataclass, field

from tests.drivers.evaluation import evaluate
from tests.drivers.server import PASSWORD

OPEN = """
import json
from tests.drivers import grants
grant = grants.make_grant("actions:*")
grant.user.set_password({password!r})
grant.user.save()
print(json.dumps({{
    "organization": str(grant.organization.pk),
    "email": grant.user.email,
    "client_id": grant.client.client_id,
    "authorization": str(grant.authorization.pk),
    "token": grant.token(),
}}))
"""


@dataclass(frozen=True)
class Account:
    """An organization, its owner, who signs in with `PASSWORD`, and a token for all of it."""

    organization: str
    email: str
    client_id: str
    authorization: str
    token: str = field(repr=False)


def open_account(env: Mapping[str, str]) -> Account:
    """A new organization on the server with this environment."""
    return Account(**json.loads(evaluate(env, OPEN.format(password=PASSWORD))))

"""The keys by which rows are found: addresses, domains and names in one form."""

import string
from typing import Final

# ASCII only: full case folding maps the Kelvin sign to k, and so one user's address to another's
# (CVE-2019-19844).
CASE: Final = str.maketrans(string.ascii_uppercase, string.ascii_lowercase)
MAX_NAME: Final = 200


def email_key(email: str) -> str:
    """Returns the address with ASCII letters in lower case and others unchanged."""
    return email.translate(CASE)


def domain_of(address: str) -> str:
    """Returns the domain of a web or email address: ASCII lower case, without `www.`.

    `https://www.Acme.example/pricing`, `ada@acme.example` and `acme.example` have the same domain.
    """
    host = address.strip().split("://", 1)[-1].split("/", 1)[0].rpartition("@")[2]
    return host.split(":", 1)[0].translate(CASE).removeprefix("www.").rstrip(".")


def name_key(name: str) -> str:
    """Returns a name in any case with single spaces. Names are shown, never used for access."""
    return " ".join(name.split()).casefold()[:MAX_NAME]

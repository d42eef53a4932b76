"""Names of cookies that no other site on the same host has.

Cookies are not isolated by port (RFC 6265 section 8.5): another Django site on the host would
replace `csrftoken`, and a form that is open here would be refused.
"""

from urllib.parse import urlsplit


def name(purpose: str, public_url: str) -> str:
    """Returns the name of a cookie of the deployment at this address.

    With the port, where the address has one, so that two deployments on one host differ. Over HTTPS
    with the prefix `__Host-`, so that no page of another subdomain can set it (RFC 6265bis section
    4.1.3.2).
    """
    address = urlsplit(public_url)
    prefix = "__Host-" if address.scheme == "https" else ""
    suffix = f"_{address.port}" if address.port else ""
    return f"{prefix}halo_{purpose}{suffix}"

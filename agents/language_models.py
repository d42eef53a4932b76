"""The language models of organizations: which one an agent uses, its address, its sealed key."""

from typing import Final
from urllib.parse import SplitResult, urlsplit
from uuid import UUID

from django.conf import settings

from agents.models import LanguageModel
from foundation import sealing
from foundation.outbound import OutboundError, Policy, vet
from foundation.outbound.policy import usual_ports
from foundation.resealing import SealedColumn

CONTEXT: Final = "agents.language_model"


class InvalidAddress(Exception):
    """A base URL is none that requests may go to; the message is for the person who entered it."""


def find_model(organization_id: UUID, own: UUID | None) -> LanguageModel | None:
    """Returns the model that an agent uses: its own, or that of the organization."""
    rows = LanguageModel.objects.filter(organization=organization_id)
    return rows.filter(pk=own).first() if own else rows.filter(is_used=True).first()


def seal_key(row: LanguageModel, key: str) -> None:
    """Seals the key in place of the one that was there. An empty key removes it."""
    row.sealed = sealing.seal(key.encode(), context=_context(row)) if key else b""


def key_of(row: LanguageModel) -> str:
    """Returns the key, or nothing. Raises SealBroken if it was sealed under a key since removed."""
    return sealing.unseal(bytes(row.sealed), context=_context(row)).decode() if row.sealed else ""


def has_readable_key(row: LanguageModel) -> bool:
    """Returns whether there is a key that can be decrypted."""
    return bool(row.sealed) and sealing.is_readable(bytes(row.sealed), context=_context(row))


def base_url(url: str) -> str:
    """Returns a base URL as it is stored, without a final slash. Raises InvalidAddress."""
    url = url.strip().rstrip("/")
    if not url:
        return ""
    if "?" in url:
        raise InvalidAddress("Enter a URL without a query.")
    try:
        vet(url, policy=policy_for(url))
    except (OutboundError, ValueError) as refused:
        reason = refused.reason if isinstance(refused, OutboundError) else "it is not a URL"
        raise InvalidAddress(f"Requests cannot go to this URL: {reason}.") from None
    return url


def policy_for(url: str) -> Policy:
    """Returns the limits of requests to a model; hosts of HALO_AGENTS_PRIVATE_HOSTS may be private.

    Raises ValueError for what is no URL.
    """
    parts: SplitResult = urlsplit(url)
    limits = Policy(allowed_ports=usual_ports(parts))
    return limits.naming(parts, settings.HALO_AGENTS_PRIVATE_HOSTS)


def is_key(text: str) -> bool:
    """Whether a text can be sent as a key: visible ASCII characters."""
    return text.isascii() and text.isprintable() and " " not in text


def _context(row: LanguageModel) -> bytes:
    return f"{CONTEXT}:{row.pk}".encode()


def _reseal(row: LanguageModel, sealed: bytes) -> None:
    row.sealed = sealed
    row.save(update_fields=["sealed"])


SEALED: Final = SealedColumn(
    name="keys of language models",
    rows=lambda: LanguageModel.objects.exclude(sealed=b"").only("sealed"),
    read=lambda row: bytes(row.sealed),
    write=_reseal,
    context=_context,
)

"""Organizations, grants and demo data of a measurement, in the database of this process."""

import contextlib
import random
import time
from collections.abc import Iterator
from datetime import timedelta
from pathlib import Path
from typing import Any, Final

from django.conf import settings
from django.db import connection
from django.utils import timezone

import knowledge
from bench import harness
from bench.servers import ROOT
from customers.demo import seeding
from documentation import index
from knowledge import sources
from oauth import addresses, scopes
from oauth.clients import clients
from oauth.clients.client_metadata import ClientMetadata
from oauth.grants import authorizations, tokens
from oauth.grants.pairs import Pair
from oauth.models import Authorization, AuthorizationRequest, Client
from retrieval import configured
from retrieval.interfaces import Passage, encode_vector
from tools_registry.models import ActionToggle, IntegrationMode
from workspace import changes, flags, organizations
from workspace.models import (
    Agent,
    DemoSeed,
    Event,
    FeatureFlag,
    KnowledgeChunk,
    KnowledgeSource,
    Membership,
    Organization,
    User,
)

CUSTOMER: Final = "maria@acme.example"
# data_find_user counts the events of this time, and no run takes longer than the other.
COUNTED: Final = timedelta(days=30)
MAX_RUN: Final = timedelta(hours=6)
# Passages of the knowledge base at each size of the demo data, besides those of its documents.
PASSAGES: Final = {"small": 0, "large": 20_000}
EVERY_SECONDS: Final = 30
MIN_WORDS: Final = 5


def create_organization(name: str = "Bench") -> Organization:
    return organizations.create(name, owner=User.objects.create_user(f"{name.lower()}@example.com"))


def find_member(organization: Organization) -> Membership:
    members = Membership.objects.select_related("user", "organization")
    return members.filter(organization=organization).earliest("pk")


def create_grants(
    organization: Organization, scope: str, count: int = 1, client: Client | None = None
) -> list[Pair]:
    """As many connections of one person, with their tokens."""
    if client is None:
        client, _ = Client.objects.get_or_create(client_id="bench", defaults={"name": "Bench"})
    request = AuthorizationRequest(client=client, resource=addresses.resource())
    granted, member = scopes.parse(scope), find_member(organization)
    roots = [authorizations.give(request, member, granted) for _ in range(count)]
    return [tokens.issue(root, granted) for root in roots]


def register_client(document: dict[str, Any]) -> tuple[Client, str]:
    """A confidential client and its secret."""
    metadata = ClientMetadata.parse(document, app_schemes=frozenset())
    registered = clients.register(metadata, address="127.0.0.1")
    return registered.client, registered.secret or ""


def revoke_newest() -> None:
    """Revoke the newest connection, as its person does."""
    authorizations.revoke(Authorization.objects.latest("pk").pk, reason="bench")


def prepare_calls() -> Organization:
    """The organization that the calls of `bench/calls.py` are for; made once in a database."""
    index.refresh(settings.HALO_DOCS_SOURCE)
    organization = Organization.objects.first()
    if organization is None:
        organization = create_organization()
        enable_hello(organization)
    return organization


def enable_hello(organization: Organization) -> None:
    """Connect the integration of `bench/application.py` and enable its action, as an admin does."""
    IntegrationMode.objects.create(
        organization=organization, integration="bench", connection="connected"
    )
    agent = Agent.objects.get(organization=organization)
    ActionToggle.objects.create(agent=agent, integration="bench", action="hello", enabled=True)


def publish_change() -> None:
    """Enable the action and announce it, as the admin's page does."""
    organization = Organization.objects.get()
    enable_hello(organization)
    changes.publish([organization.pk])


@contextlib.contextmanager
def action_switched_off() -> Iterator[None]:
    ActionToggle.objects.update(enabled=False)
    yield
    ActionToggle.objects.update(enabled=True)


@contextlib.contextmanager
def server_switched_off() -> Iterator[None]:
    """The MCP server is off for the organization."""
    flag = {"organization": Organization.objects.get(), "name": flags.MCP_SERVER}
    FeatureFlag.objects.create(**flag, enabled=False)
    yield
    FeatureFlag.objects.filter(**flag).delete()


def seed_demo_data(size: str) -> Organization:
    """The organization with the demo data of a size; parts that are missing are stored first."""
    seed = DemoSeed.objects.select_related("organization").filter(size=size).first()
    organization = seed.organization if seed else Organization.objects.first()
    organization = organization or create_organization()
    chunks = KnowledgeChunk.objects.filter(organization=organization)
    if seed and seed.finished_at and chunks.count() > PASSAGES[size]:
        return organization
    reported = time.monotonic()
    for step in seeding.run(seed or seeding.plan(organization, size)):
        if time.monotonic() - reported > EVERY_SECONDS:
            reported = time.monotonic()
            harness.say(f"demo data: {step.part}, part {step.done} of {step.total}")
    for source in KnowledgeSource.objects.filter(organization=organization, status="pending"):
        knowledge.index(source.pk)
    add_passages(organization, PASSAGES[size])
    settle_tables()
    return organization


def keep_figures_of_customer() -> None:
    """Delete the customer's events that become older during a run than those that are counted."""
    leaving = timezone.now() - COUNTED
    events = Event.objects.filter(customer__email_key=CUSTOMER)
    events.filter(at__range=(leaving, leaving + MAX_RUN)).delete()


def add_passages(organization: Organization, count: int) -> None:
    """Add so many passages, of sentences from all pages of the documentation."""
    if not count:
        return
    source = KnowledgeSource.objects.create(
        organization=organization, kind="markdown", title="Large", status="ready"
    )
    passages = list(_make_passages(count))
    embedder = configured.embedder()
    common = {"organization": organization, "source": source, "embedder": embedder.name}
    vectors = embedder.passages(passages)
    KnowledgeChunk.objects.bulk_create(
        (
            KnowledgeChunk(
                **common,
                position=position,
                title=passage.title,
                heading=passage.heading,
                text=passage.text,
                embedding=encode_vector(vector),
            )
            for position, (passage, vector) in enumerate(zip(passages, vectors, strict=True), 1)
        ),
        batch_size=500,
    )
    sources.note_change(organization.pk)


def _make_passages(count: int) -> Iterator[Passage]:
    chance = random.Random(1)  # noqa: S311  figures that repeat
    pages = [path.read_text(encoding="utf-8") for path in sorted((ROOT / "docs").rglob("*.md"))]
    lines = [line for page in pages for line in page.replace(". ", ".\n").splitlines()]
    sentences = [line.strip() for line in lines if len(line.split()) > MIN_WORDS]
    for number in range(count):
        heading = f"{chance.choice(sentences)[:60]} {number}"
        yield Passage("Large", heading, " ".join(chance.choices(sentences, k=8)))


def index_knowledge(organization: Organization, folders: tuple[Path, ...], site: str) -> None:
    """Make the pages of folders the knowledge base of an organization."""
    for path in sorted(path for folder in folders for path in folder.glob("*.md")):
        if path.name != "README.md":
            url, page = f"{site}{path.stem}", path.read_bytes()
            source = knowledge.add(organization, kind="markdown", url=url, original=page)
            knowledge.index(source.pk)


def settle_tables() -> None:
    """Leave the tables as a database at rest has them."""
    with connection.cursor() as cursor:
        cursor.execute("VACUUM (ANALYZE)" if connection.vendor == "postgresql" else "ANALYZE")

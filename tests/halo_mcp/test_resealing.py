"""`manage.py reseal`: after it, the first sealing key opens everything that is kept."""

import base64
from datetime import timedelta
from io import StringIO
from typing import Any

import pytest
from allauth.mfa.models import Authenticator
from django.apps import apps
from django.core.management import CommandError, call_command
from django.db.models import BinaryField
from django.utils import timezone

from agents import language_models, sessions
from agents.models import LanguageModel, Session
from console.account.second_factors import SecondFactorAdapter
from foundation import resealing, sealing
from foundation.ids import uuid7
from halo_mcp.sealed_columns import COLUMNS
from tests.drivers.grants import Grant
from tools_registry.models import Credential, IntegrationMode, RepeatableCall
from tools_registry.pipeline import idempotency
from tools_registry.vendors import credentials
from workspace import organizations, outbox
from workspace.models import MailKind, Organization, OutgoingMail, User

SECRET = "a credential of some length"
# Sealed for minutes, or under a key that is not in HALO_SEALING_KEYS.
SHORT_LIVED = {
    "tools_registry.PushedMessage.sealed",
    "tools_registry.Question.sealed_answer",
    "oauth.RefreshToken.sealed_reply",
    "oauth.AuthorizationRequest.sealed_code",
}
RESEALED = {
    "workspace.Organization.identity_secret",
    "tools_registry.Credential.sealed",
    "gateway.UpstreamCredential.sealed",
    "agents.LanguageModel.sealed",
    "agents.Session.sealed_options",
    "tools_registry.RepeatableCall.sealed_outcome",
    "workspace.OutgoingMail.content",
}


def reseal() -> list[str]:
    said = StringIO()
    call_command("reseal", stdout=said)
    return said.getvalue().splitlines()


def as_counted(*counts: tuple[int, int]) -> list[str]:
    return [
        f"{column.name}: {renewed} encrypted again, {current} up to date"
        for column, (renewed, current) in zip(COLUMNS, counts, strict=True)
    ]


def keep_a_factor(user: User, kind: str, member: str, text: str) -> Authenticator:
    owner = str(user.pk)
    context = f"mfa.authenticator:{owner}".encode()
    sealed = base64.b64encode(sealing.seal(text.encode(), context=context)).decode()
    data = {member: f"{owner}:{sealed}", "used_mask": 3}
    return Authenticator.objects.create(user=user, type=kind, data=data)


@pytest.fixture
def sealed_factors(grant: Grant) -> list[Authenticator]:
    """One of everything that is kept sealed."""
    mode = IntegrationMode.objects.create(organization=grant.organization, integration="desk")
    credentials.store(mode, SECRET)
    model = LanguageModel(organization=grant.organization, provider="openai", model="gpt")
    language_models.seal_key(model, SECRET)
    model.save()
    session = Session(organization=grant.organization, key_id=uuid7(), agent="support")
    context = f"agents.session:{session.pk}".encode()
    session.sealed_options = sealing.seal(b'{"key": "%b"}' % SECRET.encode(), context=context)
    session.save()
    call = RepeatableCall(organization=grant.organization, key="a" * 64, fingerprint="b" * 64)
    context = idempotency.SEALED.context(call)
    call.sealed_outcome = sealing.seal(SECRET.encode(), context=context)
    call.save()
    expires_at = timezone.now() + timedelta(hours=1)
    mail = outbox.Draft("ada@example.com", "Subject", SECRET, expires_at)
    outbox.add(grant.organization.pk, MailKind.APPROVAL, [mail])
    return [
        keep_a_factor(grant.user, Authenticator.Type.TOTP, "secret", "JBSWY3DP"),
        keep_a_factor(grant.user, Authenticator.Type.RECOVERY_CODES, "seed", "5eed"),
    ]


def test_everything_opens_once_the_old_key_is_gone(
    grant: Grant, sealed_factors: list[Authenticator], settings: Any
) -> None:
    secret = organizations.identity_secret(grant.organization)
    old, new = settings.HALO_SEALING_KEYS[0], sealing.new_key()
    settings.HALO_SEALING_KEYS = [new, old]
    assert reseal() == as_counted(*((1, 0), (2, 0), (1, 0), (0, 0)), *((1, 0),) * 4)
    settings.HALO_SEALING_KEYS = [new]
    organization = Organization.objects.get(pk=grant.organization.pk)
    assert organizations.identity_secret(organization) == secret
    assert credentials.read_secret(Credential.objects.get()) == SECRET
    assert language_models.key_of(LanguageModel.objects.get()) == SECRET
    assert sessions.secrets_of(Session.objects.get()) == {"key": SECRET}
    call = RepeatableCall.objects.get()
    context = idempotency.SEALED.context(call)
    assert sealing.unseal(bytes(call.sealed_outcome), context=context).decode() == SECRET
    assert outbox.read_content(OutgoingMail.objects.get()) == ("Subject", SECRET)
    app, codes = (Authenticator.objects.get(pk=row.pk) for row in sealed_factors)
    assert SecondFactorAdapter().decrypt(app.data["secret"]) == "JBSWY3DP"
    assert SecondFactorAdapter().decrypt(codes.data["seed"]) == "5eed"
    assert codes.data["used_mask"] == 3


@pytest.mark.usefixtures("sealed_factors")
def test_running_it_again_changes_nothing(settings: Any) -> None:
    settings.HALO_SEALING_KEYS = [sealing.new_key(), *settings.HALO_SEALING_KEYS]
    reseal()
    sealed = bytes(Credential.objects.get().sealed)
    assert reseal() == as_counted(*((0, 1), (0, 2), (0, 1), (0, 0)), *((0, 1),) * 4)
    assert bytes(Credential.objects.get().sealed) == sealed


@pytest.mark.usefixtures("sealed_factors")
def test_what_no_key_opens_is_named_and_the_rest_is_done(
    settings: Any, capsys: pytest.CaptureFixture[str]
) -> None:
    credential = Credential.objects.get()
    Credential.objects.filter(pk=credential.pk).update(sealed=b"\x01" * 60)
    settings.HALO_SEALING_KEYS = [sealing.new_key(), *settings.HALO_SEALING_KEYS]
    with pytest.raises(CommandError, match="cannot be decrypted: 1"):
        reseal()
    assert f"no configured key decrypts {credential.pk}" in capsys.readouterr().err
    assert sealing.is_current(bytes(Organization.objects.get().identity_secret or b""))


def test_passkeys_hold_nothing_sealed_and_are_left_alone(grant: Grant) -> None:
    key = Authenticator.objects.create(
        user=grant.user, type=Authenticator.Type.WEBAUTHN, data={"name": "x"}
    )
    assert reseal() == as_counted((0, 1), *((0, 0),) * 7)
    key.refresh_from_db()
    assert key.data == {"name": "x"}


def test_it_goes_through_more_rows_than_a_batch(
    grant: Grant, settings: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(resealing, "BATCH", 2)
    for number in range(5):
        mode = IntegrationMode.objects.create(
            id=uuid7(), organization=grant.organization, integration=f"desk{number}"
        )
        credentials.store(mode, SECRET)
    settings.HALO_SEALING_KEYS = [sealing.new_key(), *settings.HALO_SEALING_KEYS]
    assert reseal() == as_counted((1, 0), (0, 0), (5, 0), *((0, 0),) * 5)


# Binary columns that hold no secret.
UNSEALED = {
    "workspace.DataImport.content",
    "workspace.DataImport.refused_rows",
    "workspace.KnowledgeChunk.embedding",
    "workspace.KnowledgeSource.original",
}
# One for each key that sealed something.
PROOFS = {"foundation.SealingProof.sealed"}


def test_every_sealed_column_is_known_to_it() -> None:
    ours = ("workspace", "tools_registry", "oauth", "audit", "foundation", "gateway", "agents")
    columns = {
        f"{model._meta.label}.{field.name}"
        for model in apps.get_models()
        if model._meta.app_label in ours
        for field in model._meta.concrete_fields
        if isinstance(field, BinaryField)
    }
    assert columns == RESEALED | SHORT_LIVED | UNSEALED | PROOFS

"""Group M: a call is bound to a customer of its own organization, or it does not run."""

import asyncio
from typing import Any

import pytest
from django.db import connection
from django.test.utils import CaptureQueriesContext

from audit.models import ActionExecution
from customers import customers
from mcp_protocol.revisions import REVISIONS, Revision
from tests.drivers.asgi import Wire
from tests.drivers.bound_calls import (
    Meta,
    assert_rejected,
    bind_email,
    bind_forged_id,
    bind_id,
    row,
    whom,
)
from tests.drivers.elicitation_client import (
    EVERYTHING,
    ElicitationClient,
    accept,
    requests_on,
    response,
)
from tests.drivers.elicitation_client import facts as facts_on
from tests.drivers.grants import Grant, make_grant
from tests.drivers.mcp import McpClient, Reply
from tools_registry.pipeline import binding
from workspace.models import Customer

pytestmark = pytest.mark.usefixtures("lab")

MODERN = Revision.V2026_07_28
RULES = "lab://rules"
KELVIN = "\N{KELVIN SIGN}"


@pytest.fixture
def ada(grant: Grant) -> Customer:
    return grant.customer(
        external_id="user-1",
        email="Ada@Example.com",
        name="Ada",
        vendor_ids={"hubspot": "151", "stripe": "cus_Ada"},
    )


@pytest.mark.parametrize("revision", REVISIONS, ids=str)
@pytest.mark.parametrize("keys", ["id", "email", "both"])
def test_m01_a_call_runs_for_its_own_customer_and_the_row_says_for_whom(
    mcp: McpClient, ada: Customer, revision: Revision, keys: str
) -> None:
    named = {"id": bind_id(ada), "email": bind_email("ada@example.com")}
    meta = named[keys] if keys in named else {**named["id"], **named["email"]}
    assert whom(mcp.with_revision(revision), meta) == {
        "id": ada.pk,
        "email": "Ada@Example.com",
        "name": "Ada",
        "external_id": "user-1",
        "company_id": "",
        "vendor_ids": {"hubspot": "151", "stripe": "cus_Ada"},
    }
    assert (row().outcome, row().bound_customer_id) == ("success", ada.pk)


def test_m01_a_call_that_names_nobody_is_bound_to_nobody(mcp: McpClient, ada: Customer) -> None:  # noqa: ARG001  she is there
    assert whom(mcp, {}) is None
    assert row().bound_customer_id == ""


def test_m01_a_call_with_side_effects_is_begun_and_finished_for_its_customer(
    mcp: McpClient, grant: Grant, ada: Customer
) -> None:
    grant.connect("crm", enabled=("create_deal",))
    assert mcp.call("crm.create_deal", meta=bind_id(ada)).facts == {"deal": "d1"}
    assert (row().outcome, row().bound_customer_id) == ("success", ada.pk)


@pytest.mark.parametrize("tool", ["check", "fail"])
def test_m01_a_call_that_fails_is_recorded_for_its_customer_too(
    mcp: McpClient, ada: Customer, tool: str
) -> None:
    assert "error" in mcp.call(tool, {"how": "not_found"}, meta=bind_id(ada)).json
    assert row().bound_customer_id == ada.pk


def stale(grant: Grant) -> Meta:
    gone = grant.customer(email="gone@example.com")
    named = bind_id(gone)
    gone.delete()
    return named


def stale_email(grant: Grant) -> Meta:
    grant.customer(email="gone@example.com").delete()
    return bind_email("gone@example.com")


def forged_email(_grant: Grant) -> Meta:
    return bind_email("nobody@example.com")


def foreign(_grant: Grant) -> Meta:
    return bind_id(make_grant().customer(email="theirs@example.com"))


def foreign_email(_grant: Grant) -> Meta:
    make_grant().customer(email="theirs@example.com")
    return bind_email("theirs@example.com")


def disagreeing(grant: Grant) -> Meta:
    grant.customer(email="bob@example.com")
    return {**bind_id(grant.customer(email="eve@example.com")), **bind_email("bob@example.com")}


def half_foreign(grant: Grant) -> Meta:
    """An id of another organization next to an address that both have."""
    grant.customer(email="same@example.com")
    theirs = make_grant().customer(email="same@example.com")
    return {**bind_id(theirs), **bind_email("same@example.com")}


def half_forged(grant: Grant) -> Meta:
    return {**bind_id(grant.customer(email="own@example.com")), **bind_email("nobody@example.com")}


def bind_shared_email(grant: Grant) -> Meta:
    grant.customer(email="same@example.com", external_id="1")
    grant.customer(email="SAME@example.com", external_id="2")
    return bind_email("same@example.com")


WRONG = [
    stale,
    stale_email,
    bind_forged_id,
    forged_email,
    foreign,
    foreign_email,
    disagreeing,
    half_foreign,
    half_forged,
    bind_shared_email,
]


@pytest.mark.parametrize("wrong", WRONG, ids=lambda wrong: wrong.__name__)
def test_m02_every_wrong_binding_is_rejected_in_the_same_bytes(
    mcp: McpClient, grant: Grant, wrong: Any
) -> None:
    meta = wrong(grant)
    message = assert_rejected(mcp.call("whom", meta=meta))
    assert message.body == assert_rejected(mcp.call("whom", meta=bind_forged_id(grant))).body


@pytest.mark.parametrize("revision", REVISIONS, ids=str)
def test_m02_a_rejection_reads_the_same_at_every_revision_and_for_tools_that_ignore_it(
    mcp: McpClient, grant: Grant, revision: Revision
) -> None:
    assert_rejected(mcp.with_revision(revision).call("echo", {"value": 1}, meta=foreign(grant)))


def test_m02_a_tool_does_not_run_for_a_wrong_customer(mcp: McpClient, grant: Grant) -> None:
    grant.connect("crm", enabled=("create_deal",))
    assert_rejected(mcp.call("crm.create_deal", meta=foreign(grant)))
    assert not ActionExecution.objects.filter(outcome__in=["success", "started"]).exists()


def test_m02_a_customer_who_is_deleted_is_gone_on_the_next_call(
    mcp: McpClient, ada: Customer
) -> None:
    meta = bind_id(ada)
    assert whom(mcp, meta)["name"] == "Ada"
    ada.delete()
    assert_rejected(mcp.call("whom", meta=meta))


def test_m02_a_customer_who_is_changed_is_another_on_the_next_call(
    mcp: McpClient, ada: Customer
) -> None:
    assert whom(mcp, bind_email("ada@example.com"))["name"] == "Ada"
    ada.email, ada.name = "Countess@example.com", "Lovelace"
    customers.keep(ada)
    assert_rejected(mcp.call("whom", meta=bind_email("ada@example.com")))
    assert whom(mcp, bind_email("countess@example.com"))["name"] == "Lovelace"


def test_m03_a_binding_of_one_call_is_none_of_the_next(mcp: McpClient, ada: Customer) -> None:
    whom(mcp, bind_id(ada))
    assert whom(mcp, {}) is None
    assert row().bound_customer_id == ""


@pytest.mark.parametrize("email", ["ada@example.com", "ADA@EXAMPLE.COM", "Ada@Example.com"])
def test_m04_an_address_is_the_same_in_either_case(
    mcp: McpClient, ada: Customer, email: str
) -> None:
    assert whom(mcp, bind_email(email))["id"] == ada.pk


LIKE_ADA = [
    "ada@example.com ",
    " ada@example.com",
    "ada@example.com\n",
    "a.da@example.com",
    "ada+1@example.com",
    "ada@example.co",
    "%",
    "ada@example.co_",
    "\N{FULLWIDTH LATIN SMALL LETTER A}da@example.com",
    "ada@example.com\N{ZERO WIDTH SPACE}",
]


@pytest.mark.parametrize("email", LIKE_ADA, ids=ascii)
@pytest.mark.usefixtures("ada")
def test_m04_an_address_that_is_merely_like_it_is_another(mcp: McpClient, email: str) -> None:
    assert_rejected(mcp.call("whom", meta=bind_email(email)))


def test_m04_the_kelvin_sign_is_no_k(mcp: McpClient, grant: Grant) -> None:
    plain = grant.customer(email="kim@example.com")
    kelvin = grant.customer(email=f"{KELVIN}im@example.com")
    assert whom(mcp, bind_email("KIM@example.com"))["id"] == plain.pk
    assert whom(mcp, bind_email(f"{KELVIN}im@example.com"))["id"] == kelvin.pk


def test_m04_letters_beyond_ascii_keep_their_case(mcp: McpClient, grant: Grant) -> None:
    zoe = grant.customer(email="ZOË@example.com")
    assert whom(mcp, bind_email("zoË@example.com"))["id"] == zoe.pk
    assert_rejected(mcp.call("whom", meta=bind_email("zoë@example.com")))


def test_m04_an_id_tells_two_customers_with_one_address_apart(mcp: McpClient, grant: Grant) -> None:
    meta = bind_shared_email(grant)
    assert_rejected(mcp.call("whom", meta=meta))
    second = Customer.objects.get(external_id="2")
    assert whom(mcp, {**meta, **bind_id(second)})["id"] == second.pk


def test_m04_customers_without_an_address_are_found_by_none(mcp: McpClient, grant: Grant) -> None:
    grant.customer(external_id="1")
    assert_rejected(mcp.call("whom", meta=bind_email("")))
    assert_rejected(mcp.call("whom", meta={"bound_email": "", "bound_end_user_id": ""}))


IMPOSSIBLE: list[Any] = [
    5,
    {},
    [],
    ["u_1"],
    True,
    None,
    1.5,
    "",
    " ",
    "x" * 10_000,
    "\0",
    "u_abc123\0",
    "u_abc123%00",
    "\ud800",
    "' OR 1=1 --",
]


@pytest.mark.parametrize("value", IMPOSSIBLE, ids=lambda value: ascii(value)[:20])
@pytest.mark.parametrize("key", binding.BINDING_KEYS)
def test_m05_what_can_name_nobody_is_rejected_like_the_rest(
    mcp: McpClient, key: str, value: Any
) -> None:
    assert_rejected(mcp.call("whom", meta={key: value}))


@pytest.mark.parametrize("value", [5, None, "", "\0"], ids=ascii)
@pytest.mark.parametrize("key", binding.BINDING_KEYS)
def test_m05_a_good_key_does_not_save_a_bad_one(
    mcp: McpClient, ada: Customer, key: str, value: Any
) -> None:
    meta = {**bind_id(ada), **bind_email("ada@example.com"), key: value}
    assert_rejected(mcp.call("whom", meta=meta))


def test_m05_an_id_is_exact(mcp: McpClient, ada: Customer) -> None:
    assert_rejected(mcp.call("whom", meta=bind_id(ada.pk.swapcase())))
    assert_rejected(mcp.call("whom", meta=bind_id(f"{ada.pk} ")))
    assert_rejected(mcp.call("whom", meta=bind_id(ada.pk[:-1])))
    assert_rejected(mcp.call("whom", meta=bind_id("user-1")))


@pytest.mark.parametrize("method", ["tools/list", "prompts/list", "resources/list", "ping"])
def test_m08_a_binding_means_nothing_where_nothing_runs(mcp: McpClient, method: str) -> None:
    bound = mcp.request(method, {"_meta": bind_id("u_nobody")})
    assert bound.body == mcp.request(method).body
    assert bound.status == 200


@pytest.mark.usefixtures("books")
def test_a_read_and_a_prompt_are_bound_as_a_call_is(
    mcp: McpClient, grant: Grant, ada: Customer
) -> None:
    read = {"uri": RULES}
    assert mcp.request("resources/read", {**read, "_meta": bind_id(ada)}).status == 200
    assert (row().method, row().bound_customer_id) == ("resources/read", ada.pk)
    assert_rejected(mcp.request("resources/read", {**read, "_meta": stale(grant)}))


def test_what_the_gate_refuses_is_not_looked_up(mcp: McpClient, ada: Customer) -> None:
    with CaptureQueriesContext(connection) as captured:
        reply = mcp.call("crm.create_deal", meta=bind_id(ada))
    assert reply.error["data"]["reason"] == "not_connected"
    assert row().bound_customer_id == ""
    assert "workspace_customer" not in str(captured.captured_queries)


def ask(client: McpClient, tool: str, meta: Meta, **more: Any) -> Reply:
    given = {"io.modelcontextprotocol/clientCapabilities": EVERYTHING, **meta}
    params = {"name": tool, "arguments": {}, "_meta": given}
    return client.with_revision(MODERN).request("tools/call", {**params, **more})


def test_the_answer_to_a_question_is_bound_again(mcp: McpClient, ada: Customer) -> None:
    first = ask(mcp, "credit", bind_id(ada))
    assert row().bound_customer_id == ada.pk
    answer = {"inputResponses": {"sure": accept(sure=True)}}
    answer["requestState"] = first.result["requestState"]
    meta = bind_id(ada)
    ada.delete()
    assert_rejected(ask(mcp, "credit", meta, **answer))


def test_on_a_stream_a_customer_who_went_meanwhile_is_rejected(
    elicitation_client: ElicitationClient, ada: Customer
) -> None:
    async def script() -> Wire:
        async with elicitation_client.call("credit", meta=bind_id(ada.pk)) as wire:
            (request,) = await requests_on(wire)
            await elicitation_client.see(ada.delete)
            await elicitation_client.answer(request, accept(sure=True))
        return wire

    meta_of = response(asyncio.run(script()))
    assert meta_of["error"]["data"] == {"reason": "binding_rejected", "layer": "binding"}
    assert (row().reason, row().bound_customer_id) == ("binding_rejected", "")


def test_on_a_stream_the_answer_is_for_the_customer_of_the_call(
    elicitation_client: ElicitationClient, ada: Customer
) -> None:
    async def script() -> Wire:
        async with elicitation_client.call("credit", meta=bind_email("ada@example.com")) as wire:
            (request,) = await requests_on(wire)
            await elicitation_client.answer(request, accept(sure=True))
        return wire

    assert facts_on(asyncio.run(script())) == {"credited": ada.pk}
    assert {each.bound_customer_id for each in ActionExecution.objects.all()} == {ada.pk}


def test_a_caller_who_lost_the_scope_meanwhile_leaves_no_customer_in_the_row(
    elicitation_client: ElicitationClient, grant: Grant, ada: Customer
) -> None:
    async def script() -> Wire:
        async with elicitation_client.call("credit", meta=bind_id(ada)) as wire:
            (request,) = await requests_on(wire)
            await elicitation_client.see(lambda: grant.narrow("setup:read"))
            await elicitation_client.answer(request, accept(sure=True))
        return wire

    assert response(asyncio.run(script()))["error"]["data"]["reason"] == "scope_denied"
    assert (row().reason, row().bound_customer_id) == ("scope_denied", "")

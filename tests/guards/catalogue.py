"""The guards of the product: each with the source without it, and the tests that would notice.

Tenant filters are found in the code. The others are written down, as the lines that change. A name
is `kind: place`.
"""

import ast
import re
from collections import Counter
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from functools import cache

from tests.architecture import sources

NARROWING = {"filter", "get", "exclude"}
ORGANIZATION = re.compile(r"(.*__)?organization(_id)?(__in)?")
KEYWORD = re.compile(r"organization(_id)?(__in)?\s*=[^=]")
NAME = re.compile(r"^(\w+)(?:: [\w.]+)? = ", re.MULTILINE)
IN_SQL = re.compile(r"[\w.]*organization_id = %s")
# Rows of tenants that are written for the demo, and commands of the operator, who sees everybody's.
NO_TENANT = re.compile(r"/(migrations|management|demo)/|seed|^aap_conformance/|^bench/")
# Narrowed twice: the rows that are left are the organization's in any case.
NARROWED_TWICE: Mapping[str, str] = {
    "tenant: approvals/requests.py:list_by_calls.organization": (
        "The name of a call begins with the key of a message, which is in one session "
        "(`agents.sessions.named_calls`)."
    ),
    "tenant: approvals/requests.py:list_waiting_calls.organization": (
        "So does the name of each of these, and sessions of others are never compared with them."
    ),
    "tenant: approvals/requests.py:_requester_rows.organization_id": (
        "An authorization is of one organization, and its rows are those of its id."
    ),
    "tenant: gateway/calling.py:TARGET": (
        "The call is a tool that `gateway.source` has found for the organization (STAMP)."
    ),
}

ERASURES = ("tests/workspace/test_erased_columns.py", "tests/workspace")
ALL_GATES = ("tests/tools_registry/test_gate_layers.py", "tests/integrations")
# By the beginning of a path, the first that fits.
TESTS = {
    "workspace/access.py": ("tests/data_tools", "tests/tools_registry/test_customer_tenants.py"),
    "customers/privacy/": ("tests/workspace/test_erasing_customers.py", "tests/workspace"),
    "workspace/administration/": ("tests/workspace", "tests/console"),
    "workspace/admin.py": ("tests/console/test_admin_roles.py", "tests/console"),
    "workspace/": ("tests/workspace", "tests/data_tools", "tests/ingestion", "tests/console"),
    "customers/administration/": ("tests/workspace", "tests/console"),
    "customers/": ("tests/workspace", "tests/data_tools", "tests/ingestion"),
    "knowledge/": ("tests/workspace", "tests/data_tools"),
    "data_tools/": ("tests/data_tools",),
    "integrations/": ("tests/integrations",),
    "tools_registry/admin/": ("tests/tools_registry/test_switches_page.py", "tests/console"),
    "tools_registry/vendors/": ("tests/integrations", "tests/tools_registry"),
    "tools_registry/": ("tests/tools_registry",),
    "gateway/": ("tests/gateway",),
    "console/gateway/": ("tests/gateway",),
    "console/": ("tests/console",),
    "people/": ("tests/people",),
    "agents/": ("tests/agents", "tests/workspace"),
    "approvals/": (
        *("tests/approvals", "tests/gateway/approvals", "tests/console", "tests/workspace"),
    ),
    "oauth/": ("tests/oauth", "tests/console"),
    "audit/": ("tests/audit", "tests/workspace"),
    "ingestion/": ("tests/ingestion",),
    "rest/": ("tests/ingestion", "tests/people/api", "tests/agents"),
}


@dataclass(frozen=True, slots=True)
class Guard:
    """A guard, the source of its module without it, and the tests to run, the likeliest first."""

    path: str
    without: str = field(repr=False)
    tests: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Change:
    """What takes a guard away: lines that a file has once, and what they become."""

    path: str
    lines: str
    become: str
    tests: tuple[str, ...]


def _always(first_line: str, value: str) -> tuple[str, str]:
    """A function, named by its first line, that returns a value before anything else."""
    return first_line, f"{first_line}\n    return {value}"


def _layer(name: str) -> Change:
    line = f"def {name}(_tool: Guarded, _scope: ScopeSet, switches: Switches) -> Decision:"
    if name in {"_mode", "_agent", "_connection"}:
        line = line.replace("_tool", "tool")
    return Change("tools_registry/pipeline/gate.py", *_always(line, "ALLOWED"), ALL_GATES)


CHANGES: Mapping[str, Change] = {
    "switch: the MCP server of an organization": Change(
        "tools_registry/pipeline/gate.py",
        "    if mcp_server_on:\n",
        "    if True:\n",
        ("tests/tools_registry/test_gate_layers.py", "tests/tools_registry"),
    ),
    "switch: the connection of an integration": _layer("_connection"),
    "switch: the mode of an integration": _layer("_mode"),
    "switch: the toggle of an action": _layer("_agent"),
    "scope: destructive actions": Change(
        "tools_registry/pipeline/gate.py",
        *_always(
            "def _destructive(tool: Guarded, scope: ScopeSet, _switches: Switches) -> Decision:",
            "ALLOWED",
        ),
        ALL_GATES,
    ),
    "scope: tools that change something on a surface that reads": Change(
        "tools_registry/pipeline/gate.py",
        *_always(
            "def _changes(tool: Guarded, _scope: ScopeSet, _switches: Switches) -> Decision:",
            "ALLOWED",
        ),
        ("tests/console/test_ask.py", "tests/console/test_ask_access.py"),
    ),
    "scope: the scope of a token": Change(
        "tools_registry/pipeline/gate.py",
        '    "scope": _scope,\n',
        "",
        ("tests/tools_registry/test_gate_layers.py",),
    ),
    "role: the form of a project is for admins": Change(
        "gateway/access.py",
        "    return project.organization_id in organizations_administered(user)",
        "    return True",
        ("tests/gateway",),
    ),
    "redirect: the address is a registered one": Change(
        "oauth/clients/redirects.py",
        "    candidates = list(registered)\n",
        "    candidates = [*registered, requested]\n",
        ("tests/oauth/test_authorize_requests.py", "tests/oauth/test_redirects.py"),
    ),
    "signature: the verifier of a code": Change(
        "oauth/grants/pkce.py",
        "    return compare_digest(digest, challenge.encode())",
        "    return True",
        ("tests/oauth/test_pkce.py", "tests/oauth/test_token_exchange.py"),
    ),
    "expiry: access tokens": Change(
        "oauth/credentials.py",
        " WHERE t.expires > %s",
        " WHERE (t.expires > %s OR TRUE)",
        ("tests/oauth/test_token_expiry.py", "tests/tools_registry/test_endpoint_bearer.py"),
    ),
    "expiry: requests for approval": Change(
        "approvals/expiry.py",
        "status=ApprovalStatus.PENDING, expires_at__lte=now",
        "status=ApprovalStatus.PENDING, expires_at__lte=now, pk__in=()",
        ("tests/approvals", "tests/gateway/approvals"),
    ),
    "origin: pages of other sites": Change(
        "tools_registry/endpoint/admission.py",
        "    if origin is not None and not _is_allowed(origin, host):\n",
        "    if False:\n",
        ("tests/tools_registry/test_endpoint_http.py", "tests/tools_registry"),
    ),
    "origin: pages whose forms are kept": Change(
        "console/kept_forms.py",
        "    if not owner or not _is_from_here(request) or view.startswith(SECRET_VIEWS):\n",
        "    if not owner or view.startswith(SECRET_VIEWS):\n",
        ("tests/console/test_kept_forms.py",),
    ),
    "CSRF: forms of the console": Change(
        "halo_mcp/settings.py",
        '    "django.middleware.csrf.CsrfViewMiddleware",\n',
        "",
        ("tests/console/test_error_pages.py", "tests/console", "tests/oauth"),
    ),
    "egress: addresses outside the public internet": Change(
        "foundation/outbound/lookup.py",
        "    if is_public(address) or (policy.approves(host) and is_private(address)):\n",
        "    if True:\n",
        ("tests/foundation/test_outbound_addresses.py", "tests/foundation"),
    ),
    "approval: the document that a request was made with": Change(
        "gateway/review.py",
        "        return call if is_current else RefusedCall(CHANGED)\n",
        "        return call\n",
        ("tests/gateway/approvals", "tests/gateway"),
    ),
    "approval: a list decides only calls that it shows in full": Change(
        "gateway/requests/details.py",
        "        is_whole=is_whole,\n",
        "        is_whole=True,\n",
        ("tests/gateway/approvals/test_decisions_in_lists.py",),
    ),
    "approval: a list has only requests that the person may approve": Change(
        "approvals/decisions.py",
        "            known[key] = deciders.may_approve(user, row)\n",
        "            known[key] = True\n",
        ("tests/gateway/approvals/test_decisions_in_lists.py",),
    ),
    "masking: the query of the URL of a document is not kept": Change(
        "gateway/importing.py",
        *_always("def url_to_keep(url: str) -> str:", "url"),
        ("tests/gateway/test_project_pages.py",),
    ),
    "approval: requesters do not approve their own requests": Change(
        "approvals/deciders.py",
        "    return str(user.pk) == find_requester(request)",
        "    return False",
        ("tests/gateway/approvals", "tests/approvals"),
    ),
    "approval: a destructive action needs an approved request": Change(
        "approvals/requests.py",
        "        return rows.filter(status=ApprovalStatus.RUNNING, tool=tool.name).exists()",
        "        return True",
        ("tests/approvals", "tests/gateway/approvals"),
    ),
    "policy: the rules of a project": Change(
        "gateway/policies.py",
        "            if rule.names(tool) and rule.holds(arguments):\n",
        "            if False:\n",
        ("tests/gateway/approvals",),
    ),
    "limit: every rate": Change(
        "foundation/limits/charging.py",
        "    return None if reading is None else _build_refusal(reading, merged, _refusals)",
        "    return None",
        ("tests/tools_registry/test_endpoint_rates.py", "tests/foundation"),
    ),
    "signature: identity tokens of pages": Change(
        "oauth/identity_tokens.py",
        "leeway=LEEWAY_SECONDS, options=CHECKS\n",
        "leeway=LEEWAY_SECONDS, options={**CHECKS, 'verify_signature': False}\n",
        ("tests/ingestion",),
    ),
    "masking: secret arguments of a request": Change(
        "approvals/masked_arguments.py",
        "    is_inside = is_inside or place is None or secret_members.is_secret(place, value)\n",
        "    is_inside = False\n",
        ("tests/gateway/approvals", "tests/approvals"),
    ),
    "approval: what is sent is what was approved": Change(
        "tools_registry/pipeline/calls.py",
        "        return RefusedCall(REQUEST_CHANGED)\n",
        "        pass\n",
        ("tests/gateway/approvals", "tests/approvals", "tests/gateway"),
    ),
    "approval: a secret that is too long is not approved": Change(
        "approvals/masked_arguments.py",
        "        is_too_long = len(text) > MAX_MASKED or made.masked > MAX_ALL_MASKED\n",
        "        is_too_long = False\n",
        ("tests/gateway/approvals",),
    ),
    "limit: active tokens of a user for a project": Change(
        "oauth/mcp_tokens.py",
        "    if tokens.exclude(expires_at__lte=timezone.now()).count() >= MAX_ACTIVE:\n",
        "    if False:\n",
        ("tests/gateway/test_project_tokens.py",),
    ),
    "limit: the people that a key sees": Change(
        "people/key_limits.py",
        "    if not limit:\n",
        "    if True:\n",
        ("tests/people/test_key_limits.py",),
    ),
    "limit: open requests of a person": Change(
        "approvals/requests.py",
        "    if waiting.filter(**of_caller).count() >= MAX_OPEN_REQUESTS:\n",
        "    if False:\n",
        ("tests/gateway/approvals/test_requests_page.py",),
    ),
    "limit: open requests of an organization": Change(
        "approvals/requests.py",
        "    if waiting.count() >= MAX_OPEN_OF_ORGANIZATION:\n",
        "    if False:\n",
        ("tests/gateway/approvals/test_requests_page.py",),
    ),
    "limit: connections that a person holds open": Change(
        "tools_registry/endpoint/caller_slots.py",
        "            ConcurrencyLimit(per_key=lambda _: most() * OF_PERSON),\n",
        "            ConcurrencyLimit(per_key=lambda _: 1_000_000),\n",
        ("tests/tools_registry/test_subscriptions.py",),
    ),
    "limit: messages of a person": Change(
        "tools_registry/endpoint/rates.py",
        "    if principal.user_id:\n",
        "    if False:\n",
        ("tests/tools_registry/test_endpoint_rates.py",),
    ),
    "limit: one mail a minute to approvers": Change(
        "gateway/requests/approver_mail.py",
        "    if limits.charge_or_share([bucket], record.limits_unavailable) is not None:\n",
        "    if False:\n",
        ("tests/gateway/approvals/test_requests_page.py",),
    ),
    "limit: evaluations of a schema at one place of a value": Change(
        "foundation/schema_work.py",
        "            if total > MAX_EVALUATIONS or found[key] > self.max_times"
        " or nested > MAX_NESTED:\n",
        "            if nested > MAX_NESTED:\n",
        ("tests/agents/test_client_schemas.py", "tests/gateway/openapi/test_work.py"),
    ),
    "limit: what pages wait for": Change(
        "foundation/concurrency/page_threads.py",
        "    if _is_answering.get():\n",
        "    if False:\n",
        ("tests/halo_mcp/test_page_pools.py",),
    ),
    "idempotency: the caller of a key": Change(
        "rest/idempotency.py",
        "key_digest(self.api, self.credential, self.identity, self.key)",
        "key_digest(self.key)",
        ("tests/people/api/test_api_writes.py", "tests/ingestion/test_records.py"),
    ),
    "idempotency: the caller and tool of a key of a call": Change(
        "tools_registry/pipeline/idempotency.py",
        "        surface, party, call.subject.name, call.invocation.idempotency_key\n",
        "        call.invocation.idempotency_key\n",
        ("tests/tools_registry/test_idempotency_keys.py",),
    ),
    "approval: an execution begins once": Change(
        "approvals/execution.py",
        "    if not begun:\n",
        "    if False:\n",
        ("tests/gateway/approvals/test_running_approvals.py",),
    ),
    "deployment: the kind of a server that others reach": Change(
        "halo_mcp/checks.py",
        "    if settings.HALO_ENV or settings.IS_LOOPBACK:\n",
        "    if True:\n",
        ("tests/halo_mcp/test_system_checks.py",),
    ),
    "policy: what opens tools is confirmed": Change(
        "console/gateway/policy_changes.py",
        "        is_asked = bool(opened) and request.POST.get(CONFIRMED) != digest\n",
        "        is_asked = False\n",
        ("tests/gateway/approvals/test_policies.py",),
    ),
    "role: a suspended member has none": Change(
        "workspace/models/people.py",
        "        active = self.memberships.filter(ACTIVE_MEMBERSHIP)\n",
        "        active = self.memberships.filter(organization__suspended_at=None)\n",
        ("tests/console/test_members.py",),
    ),
    "role: an undo is of the person who made the change": Change(
        "console/members/undo.py",
        "    if change.by != user.pk:\n",
        "    if False:\n",
        ("tests/console/test_members.py",),
    ),
    "role: a second step of several organizations is not reset by one": Change(
        "console/admin.py",
        "        if not all(map(reach.includes, places)):\n",
        "        if False:\n",
        ("tests/console/test_mfa_admin.py",),
    ),
    "role: only approvers of time off decide for themselves": Change(
        "people/time_off.py",
        "        if found is not None:\n            return found.role\n",
        "        if True:\n            return DeciderRole.MANAGER\n",
        ("tests/people/test_who_decides.py",),
    ),
    "approval: the second approval of time off is somebody else's": Change(
        "people/time_off.py",
        "        _require_another(row, decider)\n",
        "        pass\n",
        ("tests/people/test_who_decides.py",),
    ),
    "policy: approved time off is cancelled by policy": Change(
        "people/time_off.py",
        "        if is_approved and decider.user is None:\n",
        "        if False:\n",
        ("tests/people/test_who_decides.py",),
    ),
    "approval: time off that no longer fits is not approved": Change(
        "people/time_off.py",
        "        if problem := request_checks.find_problem(row, history):\n",
        '        if problem := "":\n',
        ("tests/people/test_request_rules.py",),
    ),
    "policy: an approval by further people is less": Change(
        "gateway/rules/opening.py",
        "            return not self.approvers <= other.approvers\n",
        "            return False\n",
        ("tests/gateway/approvals/test_policies.py",),
    ),
    "text: NUL and lone surrogates in requests": Change(
        "rest/bodies.py",
        "        if place is not None:\n",
        "        if False:\n",
        ("tests/ingestion",),
    ),
    "form: what was kept for another account": Change(
        "console/kept_forms.py",
        "    own = [one for one in kept if one.user_id == _key(user)]\n",
        "    own = kept\n",
        ("tests/console/test_kept_forms.py",),
    ),
    "form: values that have changed since a page was shown": Change(
        "foundation/stale_forms.py",
        "    if changes:\n        raise StaleForm(changes, shown.at)\n",
        "",
        ("tests/console/test_stale_forms.py",),
    ),
    "approval: creators of keys do not approve requests of the keys": Change(
        "approvals/deciders.py",
        '    return str(creator) if creator else ""\n',
        '    return ""\n',
        ("tests/agents/test_who_requests.py",),
    ),
}


@cache
def guards() -> Mapping[str, Guard]:
    """Every guard by its name. Raises ValueError if the lines of a change are not there once."""
    filters = {name: each for name, each in tenant_filters().items() if name not in NARROWED_TWICE}
    return {**_written_down(), **dict(_columns_of_erasures()), **filters}


def _columns_of_erasures() -> Iterator[tuple[str, Guard]]:
    """The tables that an erasure searches."""
    for path in ("halo_mcp/privacy_columns.py", "customers/privacy/workspace_texts.py"):
        text = _text(path)
        starts = _starts_of_lines(text)
        for statement in ast.parse(text).body:
            if isinstance(statement, ast.AnnAssign) and isinstance(statement.value, ast.Tuple):
                for columns in statement.value.elts:
                    if not isinstance(columns, ast.Call):
                        continue
                    kind, name = ast.unparse(statement.target), ast.literal_eval(columns.args[0])
                    start, end = _span(columns, starts)
                    without = f"{text[:start]}*(){text[end:]}"
                    yield f"erasure: {kind}.{name}", Guard(path, without, ERASURES)


def _written_down() -> dict[str, Guard]:
    found = {}
    for name, change in CHANGES.items():
        text = _text(change.path)
        if text.count(change.lines) != 1:
            raise ValueError(
                f"{name}: {change.path} has its lines {text.count(change.lines)} times"
            )
        without = text.replace(change.lines, change.become)
        found[name] = Guard(change.path, without, change.tests)
    return found


@cache
def tenant_filters() -> Mapping[str, Guard]:
    """Every condition on an organization, those that narrow twice included."""
    return dict(_tenant_filters())


def _tenant_filters() -> Iterator[tuple[str, Guard]]:
    for path, text in sources.texts():
        if not path.endswith(".py") or NO_TENANT.search(path) or path.startswith("tests/"):
            continue
        if path.partition("/")[0] not in sources.PACKAGES:
            continue
        times: Counter[str] = Counter()
        for place, start, end, new in (*_find_in_calls(text), *_find_in_statements(text)):
            times[place] += 1
            number = f" {times[place]}" if times[place] > 1 else ""
            without = text[:start] + new + text[end:]
            yield f"tenant: {path}:{place}{number}", Guard(path, without, _tests_of(path))


def _find_in_calls(text: str) -> Iterator[tuple[str, int, int, str]]:
    """Keyword arguments of `filter` and its kin that name an organization."""
    if not KEYWORD.search(text):
        return  # sooner known than by parsing
    starts = _starts_of_lines(text)
    for function in ast.walk(ast.parse(text)):
        if not isinstance(function, ast.FunctionDef | ast.AsyncFunctionDef):
            continue
        for call in ast.walk(function):
            if not (isinstance(call, ast.Call) and isinstance(call.func, ast.Attribute)):
                continue
            if call.func.attr not in NARROWING:
                continue
            for keyword in call.keywords:
                if keyword.arg and ORGANIZATION.fullmatch(keyword.arg):
                    start, end = _span(keyword, starts)
                    comma = re.match(r"\s*,", text[end:])
                    end += len(comma[0]) if comma else 0
                    yield f"{function.name}.{keyword.arg}", start, end, ""


def _find_in_statements(text: str) -> Iterator[tuple[str, int, int, str]]:
    for found in IN_SQL.finditer(text):
        before = text[: found.start()].rsplit("\n", 3)[-1]
        is_sql = re.search(r"WHERE|AND|WHEN", text[max(0, found.start() - 80) : found.start()])
        if is_sql and "DELETE" not in before:
            name = NAME.findall(text[: found.start()])[-1]
            yield name, *found.span(), f"({found[0]} OR TRUE)"


def _span(node: ast.expr | ast.keyword, starts: list[int]) -> tuple[int, int]:
    assert node.end_lineno is not None
    assert node.end_col_offset is not None
    begin = starts[node.lineno - 1] + node.col_offset
    return begin, starts[node.end_lineno - 1] + node.end_col_offset


def _starts_of_lines(text: str) -> list[int]:
    starts = [0]
    for line in text.splitlines(keepends=True):
        starts.append(starts[-1] + len(line))
    return starts


def _tests_of(path: str) -> tuple[str, ...]:
    return next(tests for beginning, tests in TESTS.items() if path.startswith(beginning))


def _text(path: str) -> str:
    return (sources.ROOT / path).read_text(encoding="utf-8")

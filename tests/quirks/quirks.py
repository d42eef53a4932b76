"""What real clients do that the specifications do not ask for, and the test that replays each."""

from collections.abc import Mapping
from typing import Final

# Collected from public issue threads of clients and servers, 2025 and 2026.
REDIRECTS: Final = "tests/quirks/test_redirects_of_clients.py::"
METADATA: Final = "tests/oauth/test_client_metadata.py::"
MATCHING: Final = "tests/oauth/test_redirects.py::"
AUTHORIZE: Final = "tests/oauth/test_authorize_requests.py::"
DISCOVERY: Final = "tests/oauth/test_discovery.py::"
SCOPES: Final = "tests/oauth/test_scopes.py::"
HTTP: Final = "tests/tools_registry/test_endpoint_http.py::"
ENVELOPE: Final = "tests/tools_registry/test_endpoint_envelope.py::"
REVISIONS: Final = "tests/tools_registry/test_endpoint_revisions.py::"
SESSIONS: Final = "tests/tools_registry/test_sessions.py::"

HELD_BY: Final[Mapping[str, str]] = {
    # Redirect URIs
    "cursor-three-redirects": METADATA
    + "test_cursor_registers_its_three_redirects_as_a_web_application",
    "redirects-of-each-client": REDIRECTS + "test_what_a_client_registers_leads_back_to_it",
    "loopback-ignores-the-port": MATCHING
    + "test_a_loopback_client_chooses_its_port_and_nothing_else",
    "app-schemes-are-listed": MATCHING
    + "test_loopback_and_listed_schemes_lead_to_the_persons_device",
    "dangerous-schemes-never": MATCHING
    + "test_no_setting_and_no_client_makes_a_dangerous_scheme_acceptable",
    "one-bad-uri-is-named": METADATA
    + "test_one_bad_uri_is_named_and_the_good_one_next_to_it_is_not_kept",
    "form-action-lets-the-redirect-through": MATCHING
    + "test_form_action_names_what_the_browser_can_match",
    # Resource and scope
    "resource-under-other-names": AUTHORIZE + "test_this_server_is_known_under_each_of_its_names",
    "resource-is-inherited-on-refresh": "tests/oauth/test_refreshing.py::"
    "test_a_refresh_gives_a_new_pair_of_the_same_scope",
    "resource-elsewhere-is-invalid-target": "tests/oauth/test_resource_names.py::"
    "test_nothing_else_names_it",
    "metadata-names-what-was-typed": DISCOVERY + "test_who_typed_localhost_reads_of_localhost",
    "unknown-scopes-are-dropped": AUTHORIZE + "test_what_nobody_knows_is_never_granted",
    "granted-scope-comes-with-the-token": "tests/oauth/test_token_exchange.py::"
    "test_a_code_is_exchanged_for_a_pair",
    "scope-in-every-401": "tests/tools_registry/test_endpoint_bearer.py::"
    "test_h01_who_shows_no_bearer_is_shown_where_to_sign_in",
    "metadata-is-requested-whole": "tests/oauth/test_least_scopes.py::"
    "test_no_document_that_clients_read_first_advertises_a_scope_that_changes_data",
    "offline-access-is-dropped": SCOPES
    + "test_a_word_outside_the_grammar_is_dropped_without_an_error",
    "step-up-says-where-to-reconnect": "tests/tools_registry/test_gate_layers.py::"
    "test_k01_only_a_missing_scope_is_challenged_and_says_what_to_ask_for",
    # Discovery and registration
    "every-well-known-address": DISCOVERY + "test_the_resource_names_itself_and_its_server",
    "well-known-else-is-json-404": DISCOVERY
    + "test_anything_else_that_is_well_known_is_not_found_and_not_reflected",
    "documents-answer-head": DISCOVERY + "test_a_document_can_be_asked_for_its_headers_alone",
    "registration-omits-nulls": METADATA + "test_a_public_client_is_sent_its_id_and_no_nulls",
    "secrets-never-expire": METADATA + "test_a_secret_is_answered_with_an_expiry_of_never",
    "unknown-members-are-ignored": METADATA + "test_unknown_members_are_ignored",
    "codex-has-a-metadata-document": "tests/oauth/test_cimd_unreachable.py::"
    "test_a_host_that_cannot_be_reached_is_named_on_the_page",
    "codex-registers-without-them": "tests/oauth/test_cimd_unreachable.py::"
    "test_once_documents_are_switched_off_they_are_not_advertised_and_clients_register",
    "unknown-client-gets-a-page": AUTHORIZE
    + "test_a_request_without_a_safe_way_back_is_answered_by_a_page",
    "unknown-client-is-invalid-client": "tests/oauth/test_cleanup.py::"
    "test_a_pruned_client_is_on_record_and_looks_unknown",
    "racing-refreshes": "tests/oauth/test_racing_refreshes.py::"
    "test_a_client_that_refreshes_twice_at_a_time_stays_signed_in",
    "refreshes-at-the-default-path": "tests/oauth/test_refreshing.py::"
    "test_a_client_that_was_started_again_refreshes_at_the_default_path",
    # Transport
    "options-needs-no-token": HTTP
    + "test_options_asks_for_no_token_and_tells_an_allowed_page_what_it_may_send",
    "answers-expose-their-headers": HTTP + "test_every_answer_can_be_read_by_an_allowed_page",
    "get-for-events": HTTP + "test_g08_a_client_that_wants_a_stream_from_get_may_not_have_one",
    "get-for-the-descriptor": "tests/tools_registry/test_endpoint_transport_document.py::"
    "test_g08_a_bare_get_returns_the_descriptor",
    "head-like-get": HTTP + "test_i22_head_tells_the_length_that_get_would_send",
    "head-looks-for-the-challenge": HTTP
    + "test_head_without_a_token_is_challenged_and_get_is_the_descriptor",
    "delete-is-405": SESSIONS + "test_a_session_is_not_ended_by_its_client",
    "sessions-are-never-404": SESSIONS + "test_garbage_is_passed_over",
    "no-revision-in-a-session": SESSIONS
    + "test_a_session_speaks_its_revision_where_a_request_does_not_say",
    "any-accept-gets-json": ENVELOPE + "test_i17_whatever_is_accepted_the_answer_is_json",
    # Tools
    "underscores-for-dots": "tests/tools_registry/test_tool_names.py::"
    "test_a_call_may_use_either_name_and_is_recorded_under_one",
    "underscores-listed-by-setting": "tests/tools_registry/test_tool_names.py::"
    "test_a_setting_says_which_name_is_listed",
    "portable-schemas": "tests/tools_registry/test_toolset_checks.py::"
    "test_schemas_that_some_host_cannot_read_are_refused",
    "facts-are-sent-twice": REVISIONS
    + "test_facts_of_a_tool_with_an_output_schema_are_sent_twice_where_they_may_be",
    "errors-are-sent-as-text": REVISIONS + "test_an_error_has_the_shape_of_its_revision",
    "lists-keep-their-order": REVISIONS
    + "test_a_list_is_the_same_each_time_however_an_inspector_asks",
    "pages-only-when-large": "tests/tools_registry/test_paging.py::test_a_usual_list_is_one_page",
    "no-search-over-few-tools": "tests/quirks/test_quirks.py::"
    "test_no_search_over_tools_is_needed_yet",
    # Elicitation
    "empty-elicitation-means-forms": "tests/mcp_protocol/test_negotiation.py::"
    "test_an_empty_elicitation_capability_means_forms",
    "no-form-for-url-clients": "tests/tools_registry/test_elicitation_by_result.py::"
    "test_what_the_client_cannot_be_asked_is_reported_as_the_capability_it_lacks",
    "no-form-before-2026": "tests/tools_registry/test_elicitation_capabilities.py::"
    "test_a_client_that_cannot_be_asked_gets_an_error_and_nothing_runs",
    "removed-methods-are-404": REVISIONS + "test_what_the_newest_revision_removed_is_not_found",
}

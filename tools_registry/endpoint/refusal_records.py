"""Writes the audit rows of refused and malformed requests."""

from collections.abc import Mapping
from typing import Final

from audit import record
from audit.outcomes import Outcome
from audit.record import Execution
from mcp_protocol.errors import ProtocolError
from mcp_protocol.revisions import Revision
from tools_registry.endpoint.methods.request import MethodRequest
from tools_registry.endpoint.rates import RateLimitError

# Refusals that are no fault of the message, by the layer that refused.
REFUSED_AS: Final = {
    "rate_limit": Outcome.RATE_LIMITED,
    "flag": Outcome.REFUSED,
}


def record_refusal(
    request: MethodRequest, revision: Revision, error: ProtocolError, elapsed: int
) -> None:
    """Write the row of a refused request; `elapsed` is in microseconds."""
    params = request.params
    name, given = params.get("name", params.get("uri")), params.get("arguments")
    arguments = given if isinstance(given, dict) else {}
    data = error.data if isinstance(error.data, Mapping) else {}
    layer, surface = str(data.get("layer", "protocol")), request.http.surface
    call = Execution(
        address=request.http.address,
        surface=surface.name,
        method=request.method,
        tool=name if isinstance(name, str) else "",
        arguments=arguments if surface.recorded is None else surface.recorded(None, arguments),
        request_id=request.http.request_id,
        revision=revision.value,
        outcome=REFUSED_AS.get(layer, Outcome.PROTOCOL_ERROR),
        reason=str(data["reason"]) if layer in REFUSED_AS else f"rpc_{abs(error.code)}",
        layer=layer,
        detail=error.limit if isinstance(error, RateLimitError) else error.message,
        duration_us=elapsed,
    )
    record.insert_call(request.principal, call)

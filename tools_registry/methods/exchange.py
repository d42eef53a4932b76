"""One request with everything known about it, and how its params are read."""

from collections.abc import Callable, Mapping, Sequence
from typing import Any, TypeAlias, TypeVar

from audit.record import Actor
from foundation.carrier import carrier
from mcp_protocol import failures
from mcp_protocol.envelope import Request
from mcp_protocol.headers import HeaderLookup
from mcp_protocol.meta_keys import META
from mcp_protocol.negotiation import Terms
from mcp_protocol.revisions import Revision
from oauth.principal import Principal
from tools_registry import asking, binding, paging
from tools_registry.asking import Round
from tools_registry.call import Call, Prepared
from tools_registry.exchange import Stream
from tools_registry.operations import Operation, Reply
from tools_registry.paging import Key, Page, Place
from tools_registry.request_state import SealedFor

Listed = TypeVar("Listed")


@carrier
class Exchange:
    """One request with everything known about it."""

    principal: Principal
    actor: Actor
    request: Request
    terms: Terms
    headers: HeaderLookup
    request_id: str
    can_wait: bool = False

    @property
    def params(self) -> Mapping[str, Any]:
        return self.request.params

    @property
    def revision(self) -> Revision:
        return self.terms.revision

    def call(self, operation: Operation, name: str, arguments: Mapping[str, Any]) -> Call:
        """The call that this request asks for."""
        # What the pipeline reads of it: a call may wait for minutes, and holds no more.
        meta = binding.named(object_in(self.params, META))
        return Call(
            principal=self.principal,
            actor=self.actor,
            revision=self.revision,
            round=self._round(operation, name, arguments, meta),
            operation=operation,
            name=name,
            arguments=arguments,
            meta=meta,
            request_id=self.request_id,
            host=self.headers("host") or "",
        )

    def _round(
        self,
        operation: Operation,
        name: str,
        arguments: Mapping[str, Any],
        bound: Mapping[str, Any],
    ) -> Round:
        purpose = SealedFor(
            self.principal.authorization_id,
            operation.method,
            name,
            arguments,
            binding=bound,
        )
        return asking.round_of(
            purpose,
            self.params,
            self.revision,
            self.terms.client_capabilities,
            can_wait=self.can_wait,
        )

    def page(self, things: Sequence[Listed], key: Callable[[Listed], Key]) -> Page[Listed]:
        """The page of a list that this request asks for."""
        place = Place(self.principal.authorization_id, self.request.method)
        return paging.page(things, key, place, self.params.get("cursor"))


Handler: TypeAlias = Callable[[Exchange], Reply | Prepared | Stream]


def text_in(params: Mapping[str, Any], key: str) -> str:
    """A member that has to be text and not empty. Raises ProtocolError."""
    value = params.get(key)
    if not isinstance(value, str) or not value:
        raise failures.invalid_field(key, f"`{key}` is missing.", "must be a non-empty string")
    return value


def object_in(params: Mapping[str, Any], key: str) -> Mapping[str, Any]:
    """A member that has to be an object if it is there. Raises ProtocolError."""
    value = params.get(key, {})
    if not isinstance(value, dict):
        raise failures.invalid_field(key, f"`{key}` must be an object.", "must be an object")
    return value

"""Resolves a host to the addresses that may be connected to."""

import ipaddress
import queue
import socket
import threading
from typing import TypeAlias

from foundation.outbound.addresses import Address, is_private, is_public
from foundation.outbound.deadline import Deadline
from foundation.outbound.errors import RefusedAddress, TimedOut, Unreachable
from foundation.outbound.policy import Policy
from foundation.outbound.target import Target

# getaddrinfo cannot be interrupted. Each lookup has a thread of its own that a caller can stop
# waiting for. At most this many may run before the next caller has to wait for one to end.
MAX_LOOKUPS = 32
_lookups = threading.BoundedSemaphore(MAX_LOOKUPS)

Answers: TypeAlias = "queue.SimpleQueue[list[str]]"


def addresses(target: Target, deadline: Deadline, policy: Policy) -> tuple[Address, ...]:
    """Resolves the host once and returns its addresses, after checking all of them.

    One refused address refuses the host: a name with a public and an internal address is an attempt
    at DNS rebinding. Raises RefusedAddress, Unreachable or TimedOut.
    """
    literal = target.literal
    found = (literal,) if literal else _resolve(target, deadline, policy)
    for address in found:
        vet(target.host, address, policy)
    return found


def vet(host: str, address: Address, policy: Policy) -> None:
    """Raises RefusedAddress unless the policy permits `host` at `address`."""
    if is_public(address) or (policy.approves(host) and is_private(address)):
        return
    raise RefusedAddress(host, "its address is outside the public internet")


def _resolve(target: Target, deadline: Deadline, policy: Policy) -> tuple[Address, ...]:
    if not _lookups.acquire(timeout=deadline.seconds_left(policy.connect_timeout)):
        raise TimedOut(target.host, "too many names are being resolved")
    try:
        found = _ask(target).get(timeout=deadline.seconds_left(policy.connect_timeout))
    except queue.Empty:
        raise TimedOut(target.host, "its name was not resolved in time") from None
    if not found:
        raise Unreachable(target.host, "its name does not resolve")
    return tuple(map(ipaddress.ip_address, dict.fromkeys(found)))


def _ask(target: Target) -> Answers:
    answers: Answers = queue.SimpleQueue()
    try:
        threading.Thread(target=_look_up, args=(target, answers), daemon=True).start()
    except RuntimeError:
        _lookups.release()
        raise Unreachable(target.host, "no thread is free to resolve its name") from None
    return answers


def _look_up(target: Target, answers: Answers) -> None:
    try:
        found = socket.getaddrinfo(target.host, target.port, type=socket.SOCK_STREAM)
    except (OSError, UnicodeError):
        found = []
    finally:
        _lookups.release()
    answers.put([str(address[0]) for *_, address in found])

"""Publish and subscribe between processes.

`publish("tools:<organization>")` says that something has changed. A coroutine that waits on its
process's `Subscriptions` wakes and reads the new state. A notification has no content and can be
lost or arrive twice, so it must only be used to react sooner.
"""

from foundation.pubsub.publishing import Transport, build_transport, publish
from foundation.pubsub.subscriptions import ExclusiveSubscription, Subscription, Subscriptions

__all__ = [
    "ExclusiveSubscription",
    "Subscription",
    "Subscriptions",
    "Transport",
    "build_transport",
    "publish",
]

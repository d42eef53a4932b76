"""Where a message waits for the next page: a cookie with a name of ours, else the session."""

from django.conf import settings
from django.contrib.messages.storage.base import Message
from django.contrib.messages.storage.cookie import CookieStorage
from django.contrib.messages.storage.fallback import FallbackStorage
from django.contrib.messages.storage.session import SessionStorage


class MessageCookie(CookieStorage):
    cookie_name = settings.HALO_MESSAGES_COOKIE


class MessageStorage(FallbackStorage):
    """Django's default storage with the cookie above."""

    storage_classes = (MessageCookie, SessionStorage)

    def discard(self) -> None:
        """Drops the messages of this request, whose work was rolled back."""
        self._queued_messages: list[Message] = []

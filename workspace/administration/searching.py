"""What the search of an admin list may cost: each word is a condition with joins of its own."""

from typing import Final

from django.contrib import messages
from django.contrib.admin.views.main import SEARCH_VAR
from django.http import HttpRequest
from django.utils.translation import gettext as _

MAX_WORDS: Final = 8
MAX_CHARACTERS: Final = 200


def is_too_long(request: HttpRequest, term: str) -> bool:
    """Returns whether a search is too long to be run, and says so on the page of a list.

    Django splits a quoted text in words too, if its quotes are in the middle of a word.
    """
    if len(term) <= MAX_CHARACTERS and len(term.split()) <= MAX_WORDS:
        return False
    if SEARCH_VAR in request.GET:
        text = _("Search for at most %(words)s words and %(characters)s characters.")
        messages.warning(request, text % {"words": MAX_WORDS, "characters": MAX_CHARACTERS})
    return True

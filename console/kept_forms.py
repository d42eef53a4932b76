"""Forms that were sent after their session had ended: kept, and filled in after signing in.

Each form names the account that its page was opened by, with a signature. Where such a form is sent
from a page of this site by a visitor who is signed out, or signed in again, its fields are kept in
the session of the browser, and the page of the form is shown with them to the same account. Nothing
is saved before the person sends the form again. Another account is never shown them: they are
deleted when it signs in. Passwords and other secrets are not kept, nor the contents of files.
"""

import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass
from functools import partial
from http import HTTPStatus
from typing import Any, Final
from urllib.parse import urlencode, urljoin, urlsplit

from django.apps import apps
from django.conf import settings
from django.contrib import admin
from django.contrib.admin.exceptions import NotRegistered
from django.core import signing
from django.core.exceptions import (
    BadRequest,
    FieldDoesNotExist,
    SuspiciousOperation,
    ValidationError,
)
from django.http import (
    HttpRequest,
    HttpResponse,
    HttpResponseRedirect,
    UnreadablePostError,
)
from django.shortcuts import redirect, render
from django.template.loader import render_to_string
from django.urls import reverse
from django.utils.html import format_html
from django.utils.safestring import SafeString
from django.utils.translation import gettext as _
from django.views.decorators.http import require_POST

from audit import record
from console import form_filling
from console.form_filling import Attributes, FormNotice, SentForm
from foundation import limits
from foundation.db.storable import has_unstorable_text
from foundation.limits import Bucket, Limit
from foundation.links import SITE_PATH
from workspace.models import User

# The field of every form that names the account.
OPENED_BY: Final = "opened_by"
# The field of a form that was confirmed: the digest of what the page has listed.
CONFIRMED: Final = "confirmed"
SALT: Final = "halo.kept_forms"
SESSION_KEY: Final = "kept_forms"
MAX_KEPT: Final = 3
SECONDS: Final = 3_600
# In KiB an hour, over all browsers: each may be sent without one, and makes a session then.
KEPT_OF_ACCOUNT: Final = Limit(10_000, SECONDS)
KEPT_OF_ORGANIZATION: Final = Limit(50_000, SECONDS)
# What a form costs besides its text, so that small ones are limited too.
FORM_KIB: Final = 20
# Fields of a form that are about one sending of it.
OF_ONE_SENDING: Final = frozenset({OPENED_BY, "csrfmiddlewaretoken", CONFIRMED})
# Not kept wherever they are, and those of single views. A test compares them with the pages.
SECRET_FIELDS: Final = frozenset(
    {"password", "password1", "password2", "usable_password", "oldpassword", "credential", "secret"}
)
SECRET_FIELDS_OF_VIEWS: Final = {
    "admin:agents_languagemodel_add": frozenset({"key"}),
    "admin:agents_languagemodel_change": frozenset({"key"}),
}
# The view that takes the decision on the consent page has no page of its own.
CONSENT: Final = "oauth_consent"
# Forms of these views are only secrets: passwords, codes and passkeys.
SECRET_VIEWS: Final = ("account_", "mfa_")

# Of pages that show a form again.
PAGE_STATUSES: Final = frozenset({HTTPStatus.OK, HTTPStatus.BAD_REQUEST})
# Why a value of a select is no row that its visitor sees.
NO_ROW: Final = (LookupError, FieldDoesNotExist, NotRegistered, ValidationError, ValueError)


@dataclass(frozen=True, slots=True)
class KeptForm:
    """A form that was not accepted; `page` is where it is shown and `action` where it is sent."""

    user_id: str
    page: str
    action: str
    fields: Mapping[str, Sequence[str]]
    files: Sequence[str]
    lacks_secret: bool
    was_signed_out: bool
    at: float


class WayBack(HttpResponseRedirect):
    """The answer to a form that was kept."""


def owner_field(user: User) -> SafeString:
    """Returns the hidden field that names the account for which a page is made."""
    return format_html(
        '<input type="hidden" name="{}" value="{}">', OPENED_BY, _signer().sign(_key(user))
    )


def keep(request: HttpRequest) -> HttpResponse | None:
    """Keeps the form of a request that was not accepted; returns the way to its page.

    Returns None for forms that are not kept: of another site, of another account, or of secrets.
    Where too much was kept for the account or its organization, returns a page that says so.
    """
    view = _view_of(request)
    owner = _find_owner(request)
    if not owner or not _is_from_here(request) or view.startswith(SECRET_VIEWS):
        return None
    is_signed_in = isinstance(request.user, User)
    if is_signed_in and _key(request.user) != owner:
        return None
    secrets = SECRET_FIELDS | SECRET_FIELDS_OF_VIEWS.get(view, frozenset())
    page = find_page(request) or (request.get_full_path() if view != CONSENT else "")
    if not page:
        return None
    kept = KeptForm(
        user_id=owner,
        page=page,
        action=request.get_full_path(),
        fields={
            name: values
            for name, values in request.POST.lists()
            if name not in secrets and name not in OF_ONE_SENDING
        },
        files=[file.name or "" for files in request.FILES.lists() for file in files[1]],
        lacks_secret=any(request.POST.get(name) for name in secrets),
        was_signed_out=not is_signed_in,
        at=time.time(),
    )
    if not _has_room(kept):
        return _say_not_kept(request, page)
    others = [one for one in _read(request) if one.action != kept.action and one.user_id == owner]
    _write(request, [*others, kept][-MAX_KEPT:])
    if is_signed_in:
        return WayBack(page)
    request.session.set_expiry(SECONDS)
    return WayBack(_sign_in_address(page))


def _has_room(kept: KeptForm) -> bool:
    """Charges a form to its account and the organizations of it; returns whether it may be kept."""
    texts = [
        *kept.files,
        *(text for name, values in kept.fields.items() for text in (name, *values)),
    ]
    cost = FORM_KIB + sum(len(text.encode()) for text in texts) // 1024
    owner = User.objects.filter(pk=kept.user_id).first()
    buckets = [
        Bucket(f"kept_forms:{kept.user_id}", KEPT_OF_ACCOUNT, cost),
        *(
            Bucket(f"kept_forms_of:{organization}", KEPT_OF_ORGANIZATION, cost)
            for organization in (owner.active_roles if owner else ())
        ),
    ]
    return limits.charge_or_share(buckets, record.limits_unavailable) is None


def _say_not_kept(request: HttpRequest, page: str) -> HttpResponse:
    """Returns the page of a form that is not kept: what was entered is in the browser alone."""
    words = _(
        "You were signed out before this form was sent, or signed in again. What you entered could "
        "not be kept, because much was kept for your account or your organization in the last "
        "hour. Go back in your browser and copy what you entered, then sign in."
    )
    context = {
        "heading": _("What you entered could not be kept"),
        "words": words,
        "page": page,
        "continue_label": _("Open the page again"),
    }
    return render(request, "403_csrf.html", context, status=HTTPStatus.FORBIDDEN)


def has_kept(request: HttpRequest) -> bool:
    """Returns whether a form waits for its visitor to sign in."""
    return bool(_read(request))


def forget_others(request: HttpRequest, user: User) -> None:
    """Deletes what was kept for another account than the one that signs in."""
    kept = _read(request)
    own = [one for one in kept if one.user_id == _key(user)]
    if own != kept:
        _write(request, own)


def find_fields(request: HttpRequest, action: str) -> Mapping[str, Sequence[str]]:
    """Returns what was kept for the visitor of a form that is sent to this address; else nothing.

    For the page of a form whose rows depend on what is sent; its form tag has `data-has-kept`.
    """
    page = request.get_full_path()
    own = [one for one in _read_own(request) if (one.page, one.action) == (page, action)]
    return own[-1].fields if own else {}


def find_page(request: HttpRequest) -> str:
    """Returns the path of the page that had the form; empty if the browser does not name it."""
    parts = urlsplit(request.META.get("HTTP_REFERER", ""))
    address = f"{parts.path}?{parts.query}" if parts.query else parts.path
    is_ours = parts.netloc == request.get_host() and SITE_PATH.fullmatch(address) is not None
    return address if is_ours else ""


def middleware(answer: Callable[[HttpRequest], HttpResponse]) -> Any:
    """Keeps forms that meet the sign-in page, and fills in the ones that were kept."""

    def process(request: HttpRequest) -> HttpResponse:
        response = answer(request)
        if response.status_code >= HTTPStatus.INTERNAL_SERVER_ERROR:
            # The session may be in the store that fails.
            return response
        if request.method == "POST" and not isinstance(response, WayBack):
            if _lacks_session(request, response):
                return keep(request) or _come_back(request, response)
            _forget(request, response)
            return _say_files(request, response)
        if request.method == "GET" and _has_session(request):
            return _fill(request, response)
        return response

    return process


@require_POST
def discard(request: HttpRequest) -> HttpResponse:
    """Deletes what was kept of a form, and opens its page without it."""
    address = request.POST.get("kept", "")
    kept = _read(request)
    left = [one for one in kept if one.action != address]
    page = next((one.page for one in kept if one.action == address), reverse("home"))
    _write(request, left)
    return redirect(page)


def _lacks_session(request: HttpRequest, response: HttpResponse) -> bool:
    """Returns whether a form was not accepted because its visitor is signed out."""
    # Checked first: other answers are given without the session, or to a body that is unreadable.
    if not _leads_to_sign_in(response) and _view_of(request) != CONSENT:
        return False
    return not isinstance(request.user, User) and OPENED_BY in _read_fields(request)


def _read_fields(request: HttpRequest) -> Mapping[str, Any]:
    """Returns the fields of a form; none if the body cannot be read."""
    try:
        return request.POST
    except (BadRequest, SuspiciousOperation, UnreadablePostError):
        return {}


def _leads_to_sign_in(response: HttpResponse) -> bool:
    if not isinstance(response, HttpResponseRedirect):
        return False
    return urlsplit(response.url).path in {reverse("account_login"), reverse("admin:login")}


def _view_of(request: HttpRequest) -> str:
    return request.resolver_match.view_name if request.resolver_match else ""


def _come_back(request: HttpRequest, response: HttpResponse) -> HttpResponse:
    """To the page of the form: the address to which it is sent may be none that can be opened."""
    page = find_page(request) if _leads_to_sign_in(response) else ""
    return WayBack(_sign_in_address(page)) if page else response


def _sign_in_address(page: str) -> str:
    return f"{reverse('account_login')}?{urlencode({'next': page})}"


def _fill(request: HttpRequest, response: HttpResponse) -> HttpResponse:
    """Fills in the forms of the page that were kept for its visitor."""
    if response.status_code != HTTPStatus.METHOD_NOT_ALLOWED and not _shows_form(response):
        return response
    address = request.get_full_path()
    _delete_old(request)
    kept = [one for one in _read_own(request) if one.page == address]
    if not kept:
        return response
    if response.status_code == HTTPStatus.METHOD_NOT_ALLOWED:
        return _open_parent(request, kept)
    html = response.content.decode()
    for one in kept:
        sent = SentForm(address, one.action, one.fields)
        notice, find_label = partial(_notice, request, one), partial(_find_label, request)
        html = form_filling.fill(html, sent, notice, find_label)
    response.content = html.encode()
    # What a person had typed is in it.
    response["Cache-Control"] = "no-store"
    return response


def _say_files(request: HttpRequest, response: HttpResponse) -> HttpResponse:
    """Says which files have to be chosen again on the page of a form that was refused."""
    is_form = request.content_type == "multipart/form-data" and _has_session(request)
    if not is_form or not request.FILES or not _shows_form(response):
        return response
    address = request.get_full_path()
    files = {name: [one.name or "" for one in given] for name, given in request.FILES.lists()}
    sent = SentForm(address, address, files)
    html = form_filling.add_file_notes(response.content.decode(), sent, _file_note)
    response.content = html.encode()
    return response


def _file_note(name: str) -> str:
    return render_to_string("file_note.html", {"name": name})


def _shows_form(response: HttpResponse) -> bool:
    is_page = response.headers.get("Content-Type", "").startswith("text/html")
    return response.status_code in PAGE_STATUSES and is_page and not response.streaming


def _notice(request: HttpRequest, kept: KeptForm, found: FormNotice) -> str:
    context = {"kept": kept, "is_found": found.is_found, "unplaced": found.unplaced}
    return render_to_string("kept_form.html", context, request)


def _open_parent(request: HttpRequest, kept: Sequence[KeptForm]) -> HttpResponse:
    """The page was shown again at an address that takes only forms: the one above it has them."""
    address = request.path.rpartition("/")[0] or reverse("home")
    moved = [KeptForm(**{**asdict(one), "page": address}) for one in kept]
    _write(request, [*(one for one in _read(request) if one not in kept), *moved])
    return redirect(address)


def _find_label(request: HttpRequest, attributes: Attributes, value: str) -> str | None:
    """Returns the text of a row that a select of the admin offers; None if the visitor sees none.

    The attributes are those that Django's own script reads.
    """
    label, model, name = (
        attributes.get(f"data-{one}") or "" for one in ("app-label", "model-name", "field-name")
    )
    try:
        field: Any = apps.get_model(label, model)._meta.get_field(name)
        page = admin.site.get_model_admin(field.remote_field.model)
        if has_unstorable_text(value) or not page.has_view_permission(request):
            return None
        row = page.get_queryset(request).filter(pk=value).first()
    except NO_ROW:
        return None
    return None if row is None else str(row)


def _forget(request: HttpRequest, response: HttpResponse) -> None:
    """Deletes what was kept of a form once its view has answered it."""
    if response.status_code == HTTPStatus.FORBIDDEN or not _has_session(request):
        return
    if OPENED_BY not in _read_fields(request):
        return
    address, kept = request.get_full_path(), _read(request)
    left = [one for one in kept if one.action != address]
    if left != kept:
        _write(request, left)


def _has_session(request: HttpRequest) -> bool:
    return settings.SESSION_COOKIE_NAME in request.COOKIES


def _find_owner(request: HttpRequest) -> str:
    try:
        return _signer().unsign(request.POST.get(OPENED_BY, ""))
    except signing.BadSignature:
        return ""


def _is_from_here(request: HttpRequest) -> bool:
    """Returns whether a page of this site sent the form: others must not fill in its forms."""
    sender = request.headers.get("Origin") or request.META.get("HTTP_REFERER", "")
    return urlsplit(urljoin(sender, "/")).netloc == request.get_host()


def _read(request: HttpRequest) -> list[KeptForm]:
    since = time.time() - SECONDS
    kept = (KeptForm(**one) for one in request.session.get(SESSION_KEY, ()))
    return [one for one in kept if one.at > since]


def _read_own(request: HttpRequest) -> list[KeptForm]:
    """Returns the forms that were kept for the account that is signed in."""
    user = request.user
    return [one for one in _read(request) if isinstance(user, User) and one.user_id == _key(user)]


def _delete_old(request: HttpRequest) -> None:
    """Deletes what was kept for longer than it is shown: the session may last for weeks."""
    kept = _read(request)
    if len(kept) < len(request.session.get(SESSION_KEY, ())):
        _write(request, kept)


def _write(request: HttpRequest, kept: Sequence[KeptForm]) -> None:
    if kept:
        request.session[SESSION_KEY] = [asdict(one) for one in kept]
    else:
        request.session.pop(SESSION_KEY, None)


def _key(user: Any) -> str:
    return str(user.pk)


def _signer() -> signing.Signer:
    return signing.Signer(salt=SALT)

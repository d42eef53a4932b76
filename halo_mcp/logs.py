"""Logging: one line for each record, on standard error, with all credentials removed."""

import logging
import re
from http import HTTPStatus
from typing import Any

import structlog
from django.core.exceptions import ImproperlyConfigured

# Tokens, codes, client secrets, server keys and identity secrets carry these prefixes; only
# the prefix of one that is in a message, an argument or a traceback is logged. No word boundary in
# front: an escaped line break or space (\nhalo_at_, %20halo_at_) ends in a letter or a digit.
PREFIXED = re.compile(r"(halo_(?:at|rt|ac|cs|sk|mt)_|ha_secret_)[A-Za-z0-9_%-]+")
# Credentials of a client, in any Authorization header (RFC 7617, RFC 6750).
HEADER = re.compile(
    r"(Basic|Bearer)((?:\s|%20|\+)+)(?!halo_)[A-Za-z0-9._~+/-]{16,}=*", re.IGNORECASE
)
# The password in the URL of a database, a broker or a proxy (RFC 3986 section 3.2.1).
IN_URL = re.compile(r"(://[^\s/:@?#]*:)[^\s/@]+(?=@)")
# What a terminal or a log reader would treat as a new line or a command.
CONTROL = re.compile("[\x00-\x1f\x7f-\x9f\u2028\u2029]")
# One list for good: loggers that have written once keep the list that was configured then.
_SHARED: list[Any] = [
    structlog.contextvars.merge_contextvars,
    structlog.stdlib.add_log_level,
    structlog.stdlib.add_logger_name,
    structlog.processors.TimeStamper(fmt="iso", utc=True),
]
_PROCESSORS: list[Any] = [*_SHARED, structlog.stdlib.ProcessorFormatter.wrap_for_formatter]
LEVELS = ("DEBUG", "INFO", "WARNING", "ERROR", "CRITICAL")


def strike(text: str) -> str:
    """Returns the text with every credential cut to its prefix."""
    text = PREFIXED.sub(r"\1[struck]", text)
    text = HEADER.sub(r"\1\2[struck]", text)
    return IN_URL.sub(r"\1[struck]", text)


class StruckFormatter(structlog.stdlib.ProcessorFormatter):
    """The formatter of every handler, so that no record bypasses it."""

    def format(self, record: logging.LogRecord) -> str:
        try:
            line = super().format(record)
        except (TypeError, ValueError, KeyError):
            # For records with wrong arguments, logging would print the arguments unchanged.
            line = f"level=error event=unformattable_record place={record.name}:{record.lineno}"
        return CONTROL.sub(_escape_match, strike(line))


class UnreadableRequestFilter(logging.Filter):
    """Reduces the record of a request that Django could not parse to one line.

    Anybody can send such requests in large numbers; a traceback has no useful information.
    """

    def __init__(self, level: str) -> None:
        super().__init__()
        self.least = logging.getLevelNamesMapping()[level]

    def filter(self, record: logging.LogRecord) -> bool:
        status = getattr(record, "status_code", HTTPStatus.INTERNAL_SERVER_ERROR)
        if not (
            record.name.startswith(("django.request", "django.security"))
            and record.exc_info
            and status < HTTPStatus.INTERNAL_SERVER_ERROR
        ):
            return True
        record.exc_info = record.exc_text = None
        record.levelno, record.levelname = logging.INFO, "INFO"
        return self.least <= logging.INFO


def configuration(*, level: str) -> dict[str, Any]:
    """Returns a `LOGGING` dictionary; also configures structlog.

    Raises ImproperlyConfigured for an unknown level.
    """
    if level not in LEVELS:
        raise ImproperlyConfigured(f"HALO_LOG_LEVEL: expected one of {', '.join(LEVELS)}")
    structlog.configure(
        processors=_PROCESSORS,
        logger_factory=structlog.stdlib.LoggerFactory(),
        wrapper_class=structlog.stdlib.BoundLogger,
        cache_logger_on_first_use=True,
    )
    return {
        "version": 1,
        "disable_existing_loggers": False,
        "formatters": {"line": {"()": StruckFormatter, **_rendering()}},
        "filters": {"unreadable": {"()": UnreadableRequestFilter, "level": level}},
        "handlers": {
            "stderr": {
                "class": "logging.StreamHandler",
                "formatter": "line",
                "filters": ["unreadable"],
            }
        },
        "root": {"handlers": ["stderr"], "level": level},
        "loggers": {
            "django": {"level": level},
            # A variable that is missing is logged with all that the page has: the request, with
            # whatever is in its query.
            "django.template": {"level": "INFO"},
            # The proxy logs the paths and queries of requests.
            "uvicorn": {"level": "WARNING"},
            "uvicorn.access": {"level": "WARNING"},
            "celery": {"level": "WARNING"},
            "httpx2": {"level": "WARNING"},
            # The database records which credential was used, with the name of the user.
            "fido2": {"level": "WARNING"},
        },
    }


def _rendering() -> dict[str, Any]:
    return {
        "foreign_pre_chain": _SHARED,
        "processors": [
            structlog.stdlib.ProcessorFormatter.remove_processors_meta,
            structlog.processors.format_exc_info,
            structlog.processors.LogfmtRenderer(
                key_order=["timestamp", "level", "event"], bool_as_flag=False
            ),
        ],
    }


def _escape_match(found: re.Match[str]) -> str:
    return found[0].encode("unicode_escape").decode("ascii")

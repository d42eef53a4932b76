"""Logs: one line a record, to standard error, with every secret of ours struck out."""

import logging
import re
from http import HTTPStatus
from typing import Any

import structlog
from django.core.exceptions import ImproperlyConfigured

# Access and refresh tokens, codes, client secrets and identity secrets carry these prefixes; one
# that slips into a message, an argument or a traceback leaves this process as its prefix only.
# No word boundary in front: an escaped line break or space (\nhalo_at_, %20halo_at_) ends in a
# letter or a digit, and would hide the token behind it.
PREFIXED = re.compile(r"(halo_(?:at|rt|ac|cs)_|ha_secret_)[A-Za-z0-9_%-]+")
# A client's id and secret, or a stranger's credentials (RFC 7617, RFC 6750).
HEADER = re.compile(
    r"(Basic|Bearer)((?:\s|%20|\+)+)(?!halo_)[A-Za-z0-9._~+/-]{16,}=*", re.IGNORECASE
)
# The password in the URL of a database, a broker or a proxy (RFC 3986 section 3.2.1).
IN_URL = re.compile(r"(://[^\s/:@?#]*:)[^\s/@]+(?=@)")
# What a terminal or a log reader would take for a new line or a command.
CONTROL = re.compile("[\x00-\x1f\x7f-\x9f\u2028\u2029]")
LEVELS = ("DEBUG", "INFO", "WARNING", "ERROR", "CRITICAL")


def strike(text: str) -> str:
    """The text with every credential cut down to what names its kind."""
    text = PREFIXED.sub(r"\1[struck]", text)
    text = HEADER.sub(r"\1\2[struck]", text)
    return IN_URL.sub(r"\1[struck]", text)


class StruckFormatter(structlog.stdlib.ProcessorFormatter):
    """The last step of every record, so that no path around it exists."""

    def format(self, record: logging.LogRecord) -> str:
        try:
            line = super().format(record)
        except (TypeError, ValueError, KeyError):
            # Left to itself, logging would print the arguments of such a record as they are.
            line = f"level=error event=unformattable_record place={record.name}:{record.lineno}"
        return CONTROL.sub(_escaped, strike(line))


class Unreadable(logging.Filter):
    """Makes one quiet line of a request that Django could not read.

    Anybody can send such requests by the thousand, and where in Django each was given up on is
    neither a fault of this server nor worth fifty lines.
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
    """A `LOGGING` dictionary; configures structlog as a side effect of being asked for.

    Raises ImproperlyConfigured for a level that is none.
    """
    if level not in LEVELS:
        raise ImproperlyConfigured(f"HALO_LOG_LEVEL: expected one of {', '.join(LEVELS)}")
    shared = _shared_processors()
    return {
        "version": 1,
        "disable_existing_loggers": False,
        "formatters": {"line": {"()": StruckFormatter, **_rendering(shared)}},
        "filters": {"unreadable": {"()": Unreadable, "level": level}},
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
            # Paths and queries of requests belong to the proxy's log, not to ours.
            "uvicorn": {"level": "WARNING"},
            "uvicorn.access": {"level": "WARNING"},
            "celery": {"level": "WARNING"},
            "httpx2": {"level": "WARNING"},
            # Which credential was used is in the database, under the person's name.
            "fido2": {"level": "WARNING"},
        },
    }


def _shared_processors() -> list[Any]:
    shared: list[Any] = [
        structlog.contextvars.merge_contextvars,
        structlog.stdlib.add_log_level,
        structlog.stdlib.add_logger_name,
        structlog.processors.TimeStamper(fmt="iso", utc=True),
    ]
    structlog.configure(
        processors=[*shared, structlog.stdlib.ProcessorFormatter.wrap_for_formatter],
        logger_factory=structlog.stdlib.LoggerFactory(),
        wrapper_class=structlog.stdlib.BoundLogger,
        cache_logger_on_first_use=True,
    )
    return shared


def _rendering(shared: list[Any]) -> dict[str, Any]:
    return {
        "foreign_pre_chain": shared,
        "processors": [
            structlog.stdlib.ProcessorFormatter.remove_processors_meta,
            structlog.processors.format_exc_info,
            structlog.processors.LogfmtRenderer(
                key_order=["timestamp", "level", "event"], bool_as_flag=False
            ),
        ],
    }


def _escaped(found: re.Match[str]) -> str:
    return found[0].encode("unicode_escape").decode("ascii")

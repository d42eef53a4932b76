"""No credential leaves this process through its log, and no record is more than one line."""

import io
import logging
import logging.config
from collections.abc import Callable, Iterator

import pytest
import structlog
from django.conf import settings
from django.core.exceptions import ImproperlyConfigured
from django.test import Client
from hypothesis import given
from hypothesis import strategies as st
from structlog.testing import capture_logs

from console import documentation
from halo_mcp import logs

BODY = "Zx9-_kQ0aB7cD1eF2gH3iJ4kL5mN6oP7qR8sT9uV0wX"
PREFIXES = (
    *("halo_at_", "halo_rt_", "halo_ac_", "halo_cs_", "halo_sk_", "halo_mt_"),
    "ha_secret_",
)
Log = Callable[[], str]


def formatter() -> logging.Formatter:
    """The formatter that `LOGGING` describes."""
    arguments = dict(logs.configuration(level="INFO")["formatters"]["line"])
    made = arguments.pop("()")(**arguments)
    assert isinstance(made, logging.Formatter)
    return made


@pytest.fixture
def log_text() -> Iterator[Log]:
    """What the configured formatter writes for the logger named `struck`."""
    stream = io.StringIO()
    handler = logging.StreamHandler(stream)
    handler.setFormatter(formatter())
    logger = logging.getLogger("struck")
    logger.handlers, logger.propagate = [handler], False
    logger.setLevel(logging.DEBUG)
    yield stream.getvalue
    logger.handlers, logger.propagate = [], True


@pytest.fixture
def configure_log() -> Iterator[Callable[[str], Log]]:
    """What is on standard error, at a level, once everything is set up as it is deployed."""
    stream, root = io.StringIO(), logging.getLogger()
    before, level = root.handlers, root.level

    def configure(level: str) -> Log:
        described = logs.configuration(level=level)
        handler = described["handlers"]["stderr"]
        described["handlers"]["stderr"] = handler | {"stream": stream}
        logging.config.dictConfig(described)
        return stream.getvalue

    yield configure
    root.handlers = before
    root.setLevel(level)
    logging.config.dictConfig(settings.LOGGING | {"root": {"level": level}})
    root.handlers = before


UNREADABLE = {
    "boundary": ("x", "multipart/form-data; boundary="),
    "charset": ("a=b", "application/x-www-form-urlencoded; charset=latin-1"),
    "fields": ("a=1&" * 2001, "application/x-www-form-urlencoded"),
    "length": ("a=" + "x" * 1_100_000, "application/x-www-form-urlencoded"),
}


@pytest.mark.django_db
@pytest.mark.parametrize("sent", UNREADABLE.values(), ids=UNREADABLE)
def test_a_request_that_cannot_be_read_is_one_quiet_line(
    sent: tuple[str, str], configure_log: Callable[[str], Log]
) -> None:
    body, kind = sent
    written = configure_log("INFO")
    assert Client().generic("POST", "/signin", body, content_type=kind).status_code == 400
    (line,) = written().splitlines()
    assert "level=info" in line
    assert "Traceback" not in line
    assert "exception" not in line


@pytest.mark.django_db
def test_a_quiet_line_is_not_written_where_only_warnings_are(
    configure_log: Callable[[str], Log],
) -> None:
    written = configure_log("WARNING")
    assert Client().get("/", HTTP_HOST="evil.example").status_code == 400
    assert written() == ""


@pytest.mark.django_db
def test_a_fault_of_the_server_keeps_its_traceback(
    configure_log: Callable[[str], Log], monkeypatch: pytest.MonkeyPatch
) -> None:
    def fail(**_given: object) -> None:
        raise RuntimeError

    monkeypatch.setattr(documentation, "groups", fail)
    written = configure_log("WARNING")
    assert Client(raise_request_exception=False).get("/docs/").status_code == 500
    assert "level=error" in written()
    assert "RuntimeError" in written()


@pytest.mark.parametrize("prefix", PREFIXES)
@pytest.mark.parametrize(
    "around",
    [
        "{}",
        "Bearer {}",
        "token={}&next=1",
        "Authorization%3A%20Bearer%20{}",
        r"first line\n{}",
        "x_{}",
        '{{"code": "{}"}}',
        "https://app.example/callback?code={}&state=x",
    ],
)
def test_a_credential_is_cut_to_its_prefix_wherever_it_stands(prefix: str, around: str) -> None:
    struck = logs.strike(around.format(prefix + BODY))

    assert BODY not in struck
    assert f"{prefix}[struck]" in struck


@pytest.mark.parametrize(
    ("text", "struck"),
    [
        ("Basic YWRhOmNvcnJlY3QgaG9yc2U=", "Basic [struck]"),
        ("authorization: basic%20YWRhOmNvcnJlY3QgaG9yc2U=", "authorization: basic%20[struck]"),
        ("Bearer eyJhbGciOiJIUzI1NiJ9.e30.abc", "Bearer [struck]"),
        ("redis://:open-sesame@cache:6379/0", "redis://:[struck]@cache:6379/0"),
        ("postgres://halo:p%40ss@db/halo", "postgres://halo:[struck]@db/halo"),
    ],
)
def test_credentials_that_are_not_ours_are_struck_too(text: str, struck: str) -> None:
    assert logs.strike(text) == struck


@pytest.mark.parametrize(
    "text",
    [
        "Basic authentication failed",
        "Bearer realm=halo-mcp",
        "http://127.0.0.1:8000/api/mcp",
        "halo_at_",
        "ab_live_publishable",
        "an address: https://example.com, mail ada@example.com",
    ],
)
def test_what_is_no_secret_stays_readable(text: str) -> None:
    assert logs.strike(text) == text


@given(before=st.text(max_size=20), after=st.sampled_from([" ", "\n", '"', "'", "&", ")", ""]))
def test_nothing_that_stands_around_a_token_hides_it(before: str, after: str) -> None:
    assert BODY not in logs.strike(f"{before}halo_at_{BODY}{after}")


def test_a_token_in_a_message_an_argument_and_a_field_is_struck(log_text: Log) -> None:
    secret = f"halo_at_{BODY}"
    log = structlog.get_logger("struck")

    logging.getLogger("struck").info("got %s of %r", secret, {"token": f"\n{secret}"})
    log.warning("refused", token=secret, headers={"authorization": f"\tBearer {secret}"})

    assert BODY not in log_text()
    assert log_text().count("halo_at_[struck]") == 4


def test_a_token_in_a_traceback_is_struck(log_text: Log) -> None:
    log = structlog.get_logger("struck")
    try:
        try:
            {}[f"no row for halo_rt_{BODY}"]
        except LookupError as error:
            raise RuntimeError(f"while exchanging\nhalo_ac_{BODY}") from error
    except RuntimeError:
        log.exception("failed")
        logging.getLogger("struck").exception("failed too")

    assert BODY not in log_text()
    assert log_text().count("Traceback") == 4
    assert log_text().count("halo_ac_[struck]") == 2


def test_every_record_is_one_line_and_carries_no_control_letters(log_text: Log) -> None:
    logging.getLogger("struck").info("one\ntwo\rthree\x1b[31m\u2028four\x85five\x00")

    (line,) = log_text().splitlines()
    assert line.isprintable()


def test_a_record_that_cannot_be_formatted_does_not_print_its_arguments() -> None:
    # An exception here would make logging print the arguments to standard error as they are.
    message, arguments = "two values: %s %d", (f"halo_at_{BODY}",)
    record = logging.LogRecord("struck", logging.INFO, __file__, 7, message, arguments, None)

    line = formatter().format(record)

    assert "unformattable_record place=struck:7" in line
    assert BODY not in line


def test_the_running_configuration_has_no_other_way_out() -> None:
    handlers = settings.LOGGING["handlers"]

    assert {handler["formatter"] for handler in handlers.values()} == {"line"}
    assert settings.LOGGING["formatters"]["line"]["()"] is logs.StruckFormatter


def test_a_level_that_is_none_is_refused_by_name() -> None:
    with pytest.raises(ImproperlyConfigured, match=r"^HALO_LOG_LEVEL: "):
        logs.configuration(level="LOUD")


def test_a_logger_that_has_written_follows_a_configuration_that_is_made_again() -> None:
    logger = structlog.get_logger("struck.before")
    logger.info("first")

    logs.configuration(level="INFO")

    with capture_logs() as lines:
        logger.warning("second")
    assert [line["event"] for line in lines] == ["second"]

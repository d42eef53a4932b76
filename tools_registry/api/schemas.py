"""Compiled JSON Schemas (2020-12).

`jsonschema-rs` validates in under a microsecond, matches patterns in linear time and is given a
retriever that refuses, so that no schema can make this process fetch something.
"""

from collections.abc import Mapping
from functools import lru_cache
from typing import Any, NoReturn

import jsonschema_rs
import orjson


def validator_of(schema: Mapping[str, Any]) -> Any:
    """A compiled validator. Raises ValueError for a schema that is none or points elsewhere."""
    return _compiled(orjson.dumps(schema, option=orjson.OPT_SORT_KEYS))


@lru_cache(maxsize=4096)
def _compiled(schema: bytes) -> Any:
    # The engine without backtracking: a pattern that needs some (look-around, back-references)
    # does not compile, so none can be made to run for minutes.
    return jsonschema_rs.Draft202012Validator(
        orjson.loads(schema), retriever=_refuse, pattern_options=jsonschema_rs.RegexOptions()
    )


def form_validator_of(schema: Mapping[str, Any]) -> Any:
    """As `validator_of`, for what a person fills in: `format` counts there (client/elicitation)."""
    return _compiled_form(orjson.dumps(schema, option=orjson.OPT_SORT_KEYS))


@lru_cache(maxsize=1024)
def _compiled_form(schema: bytes) -> Any:
    return jsonschema_rs.Draft202012Validator(
        orjson.loads(schema),
        retriever=_refuse,
        pattern_options=jsonschema_rs.RegexOptions(),
        validate_formats=True,
    )


def _refuse(uri: str) -> NoReturn:
    raise ValueError(f"a schema may not refer to {uri}")

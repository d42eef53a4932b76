"""Known secrets, and what is named as one, are masked in every form that text of JSON may have."""

import json
import time

import pytest

from foundation import masking

SLASHES = r'{"log": "{\"token_echo\": \"abc\\/def+ghi\"}"}'


def escape_all(secret: str) -> str:
    return "".join(f"\\u{ord(one):04X}" for one in secret)


@pytest.mark.parametrize(
    ("secret", "text", "masked"),
    [
        ("abc/def+ghi", SLASHES, r'{"log": "{\"token_echo\": \"***\"}"}'),
        ("abc/def+ghi", r'{"a": "abc\/def+ghi"}', '{"a": "***"}'),
        ("pa&ss<word>1", r'{"a": "pa\u0026ss\u003cword\u003e1"}', '{"a": "***"}'),
        ('ä+b"cd', r'{"a": "\u00E4\u002Bb\u0022cd"}', '{"a": "***"}'),
        ('ä+b"cd', r'{"a": "{\u0022b\u0022:\u0022\\u00E4\\u002Bb\\u0022cd\u0022}"}', None),
        ("key😀1", r'"key\ud83d\ude001", "key\\ud83d\\ude001"', '"***", "***"'),
        ("every", json.dumps(json.dumps(escape_all("every"))), r'"\"***\""'),
        ("a b/c", "/?q=a%20b%2Fc and a b/c", "/?q=*** and ***"),
    ],
)
def test_a_secret_is_masked_however_its_characters_are_escaped(
    secret: str, text: str, masked: str | None
) -> None:
    expected = masked or r'{"a": "{\u0022b\u0022:\u0022***\u0022}"}'
    assert masking.replace_secrets(text, [secret]) == expected


def test_secrets_that_overlap_are_masked_as_a_whole() -> None:
    assert masking.replace_secrets("abcdefgh!", ["abcd", "bcdefgh"]) == "***!"


@pytest.mark.parametrize(
    ("secret", "body"),
    [
        ("n123", {"a": "\n123"}),
        ("abc\\", {"a": 'abc\\"'}),
        ("n123", {"a": json.dumps({"b": "\n123"})}),
    ],
)
def test_json_is_still_json_where_a_secret_begins_or_ends_in_an_escape(
    secret: str, body: object
) -> None:
    masked = json.loads(masking.replace_secrets(json.dumps(body), [secret]))
    assert "***" in masked["a"]


@pytest.mark.parametrize(
    "text",
    [r"C:\users\new\table", r'\\server\u00e4 "\/" \ud83d', "a\\", r'{"a": "\u0026 \\u003c \n"}'],
)
def test_a_text_without_a_secret_stays_as_it_is(text: str) -> None:
    assert masking.replace_secrets(text, ["another", "one/more"]) == text
    assert masking.mask_secrets(text, ["another"]) == text


@pytest.mark.parametrize(
    ("text", "masked"),
    [
        (r"{\"password\": \"ab\\\"cd\"} rest", r"{\"password\": ***} rest"),
        (r"{\"password\": \"abcd\\\\\", \"b\": 1}", r"{\"password\": ***, \"b\": 1}"),
        (r"{\u0022password\u0022:\u0022ab\\u0022cd\u0022}", r"{\u0022password\u0022:***}"),
        (r"{\\\"api_key\\\": \\\"ab\\\\\\\"cd\\\"} rest", r"{\\\"api_key\\\": ***} rest"),
        ('{"password": "ab\\"cd", "b": 1}', '{"password": ***, "b": 1}'),
    ],
)
def test_a_value_that_is_named_as_a_secret_is_masked_up_to_its_end(text: str, masked: str) -> None:
    assert masking.mask_secrets(text) == masked


def test_texts_are_masked_each_by_itself() -> None:
    texts = ["a\\", "nsecret-1", "", "secret-2", "plain"]
    replaced = masking.replace_in_texts(texts, ["secret-1", "secret-2"])
    assert replaced == ["a\\", "n***", "", "***", "plain"]
    assert masking.replace_in_texts([], ["secret-1"]) in ([], [""])


def test_thousands_of_secrets_are_looked_for_in_a_large_text_within_seconds() -> None:
    secrets = [f'text {number:05}/of "arguments"' for number in range(5_000)]
    text = json.dumps([f"{number:x} words that are no secret" for number in range(25_000)])
    begun = time.process_time()
    masked = masking.replace_secrets(f"{text}{json.dumps(secrets[7])}", secrets)
    assert masked == f'{text}"***"'
    assert time.process_time() - begun < 4

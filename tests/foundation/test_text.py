"""How texts are compared: the inputs that people reported, in one table for every search."""

import unicodedata

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from foundation.text.folding import fold
from foundation.text.names import find_nearest_names, is_same_name, list_name_keys, name_key
from foundation.text.stems import stem
from foundation.text.values import find_nearest_values, find_same_values
from foundation.text.words import (
    END,
    MAX_WORD,
    make_index_words,
    parse_query,
    split_name_query,
    split_words,
)
from tests.drivers.index_words import finds

# What people write in the same text, and what is special in a query or to a database.
SIGNS = (
    "aeinorstuAE ÄÖßøéÉıİ 0123456789 -_.,'\"*():^&|!<>\\%+@#§ 李小退款 가나다 カﾞパ ไทยตั๋ว"
    " שלו\u05b9 \u0301\u0308\u0316\u3099\u200b\u00ad😀🚀™ﷺﬃ"
)
TEXTS = st.text(st.sampled_from(SIGNS), max_size=60)


@settings(max_examples=300, deadline=None)
@given(text=TEXTS)
def test_a_text_is_found_by_each_of_its_parts(text: str) -> None:
    for part in text.replace('"', " ").split():
        if split_words(part):
            assert finds(f'"{part}"', text)
            assert part == "OR" or finds(part, text)


@settings(max_examples=300, deadline=None)
@given(text=TEXTS)
def test_a_folded_text_stays_the_same_and_composition_makes_no_difference(text: str) -> None:
    folded = fold(text)
    assert fold(folded) == folded
    for form in ("NFC", "NFD"):
        assert fold(unicodedata.normalize(form, text)) == folded


@settings(max_examples=300, deadline=None)
@given(text=TEXTS)
def test_words_have_no_sign_that_a_database_reads(text: str) -> None:
    index = make_index_words(text, text).split()
    query = [word for group in parse_query(text).groups for form in group for word in form]
    for word in (*index, *(word.removesuffix("*") for word in query)):
        assert word == END or not set(word) & set("\"'*():^&|!<>\\%_-+ ")
        assert len(word) <= MAX_WORD


@pytest.mark.parametrize("marks", ["\u0301\u0316", "\u3099\u0301", "\uff9e\u0301", "\u0e48\u0e38"])
def test_thousands_of_marks_are_cut(marks: str) -> None:
    assert len(fold(f"a{marks * 100_000}")) <= 31
    assert finds("a", f"a b{marks * 100_000}")


@pytest.mark.parametrize(
    ("query", "text"),
    [
        *((query, "Die Größe im Export") for query in ("Größe", "GRÖSSE", "Grösse", "groesse")),
        *((query, "Die Groesse im Export") for query in ("Größe", "groesse")),
        ("grosse", "Größe"),
        ("Müller", "Anna Mu\u0308ller"),
        ("Mueller", "Anna Müller"),
        ("cafe", "Cafe\u0301"),
        ("sifre", "Şifre"),
        ("İade", "İade"),
        ("iade", "İADE"),
        ("O'Brien", "Sean O\u2019Brien"),
        ("O\u2019Brien", "Sean O'Brien"),
        ("obrien", "Sean O\u02bcBrien"),
        ("password", "pass\u200bword"),
        ("ｐａｓｓ", "pass"),
        ("not working", "The export is not working."),
        ("is down", "The API is down."),
        *((query, "I cannot sign up.") for query in ("sign up", "signup", "sign-up", "signing up")),
        *((query, "The signup fails.") for query in ("sign up", "signup", "sign-up")),
        *((query, "The sign-up fails.") for query in ("sign up", "signup", "sign-up")),
        *((query, "An e-mail came.") for query in ("email", "e-mail", "E\u2011Mail", "emails")),
        *((query, "An email came.") for query in ("email", "e-mail")),
        *((query, "Since v2.3.1 it fails.") for query in ("2.3.1", "v2.3.1", "V2.3.1")),
        *((query, "Since 2.3.1 it fails.") for query in ("2.3.1", "v2.3.1")),
        ("login OR signin", "I cannot sign in."),
        ("login OR signin", "The login fails."),
        *(
            (query, "你好，我要退款，订单号 A-1009 一直没有收到。")
            for query in ("退款", "订单", "我要退款", "A-1009", "a1009", "退", "好", "款")
        ),
        ("パスワード", "新しいパスワードを忘れました"),
        ("李", "李小龙"),
        ("小龙", "李小龙"),
        ("ตั๋ว", "ฉันซื้อตั๋วแล้ว"),
        *((query, "重跑gen-itgc后…order#A77确认") for query in ("gen", "itgc", "A77", "确认")),
        ("🚀", "We deploy 🚀 today"),
        ("deploy 🚀", "We deploy🚀 today"),
        ("21:33:aa:cc:e4:9d", "The device 21:33:aa:cc:e4:9d"),
        ("https://app.example/settings/api", "See https://app.example/settings/api."),
        ("invoices", "The invoice"),
        ("invoicing", "Invoices"),
        ("customer", "the customer's invoice"),
        ("don't", "I don\u2019t know"),
        ("exportation", "l'exportation"),
        *((query, "Slack에서 API가 느려요") for query in ("slack", "API", "느려", "에서", "가")),
        ("결제", "자동결제를 취소"),
        *((query, "The refund came.") for query in ("refund OR a chargeback", "x OR the - refund")),
        ("refund OR a chargeback", "A chargeback came."),
        ("error log in console", "The console has an error log."),
        ("error log in console", "An error on login, says the console."),
        ("sign up page", "Up the page there is a sign."),
        ("the", "The export"),
        ("windows", "Windows™ and Office℠"),
    ],
)
def test_a_query_finds_a_text_that_people_spell_otherwise(query: str, text: str) -> None:
    assert finds(query, text)


@pytest.mark.parametrize(
    ("query", "typed"),
    [("who is it", ["who", "is", "it"]), ('"IT" export', ["IT", "export"]), ('"the"', ["the"])],
)
def test_words_that_say_little_are_looked_for_alone_and_in_quotes(
    query: str, typed: list[str]
) -> None:
    parsed = parse_query(query)
    assert ([one for (one,) in parsed.typed], parsed.ignored) == (typed, ())


@pytest.mark.parametrize(
    ("query", "groups"),
    [
        ("Will Smith", [("Will",), ("Smith",)]),
        ("anna OR bob", [("anna", "bob")]),
        ('"Log In" or - "OR"', [("Log In",), ("or",), ("OR",)]),
        ("OR anna OR", [("anna",)]),
    ],
)
def test_a_query_of_names_ignores_no_word(query: str, groups: list[tuple[str, ...]]) -> None:
    assert split_name_query(query) == groups


@pytest.mark.parametrize(
    ("query", "text"),
    [
        ("not working", "It is working."),
        ("sign up", "I cannot sign in, what is up?"),
        ('"not working"', "It is working, is it not?"),
        ('"fails with"', "It fails."),
        ("退款", "我要订单"),
        ("23.1", "v2.31"),
        ("not", "note"),
        ("let", "letter"),
        ("app", "apply"),
        ("deploy 🚀", "We deploy"),
        ('"export broken"', "broken export"),
        ("guest", "gust"),
        ("poets", "pots"),
        ("end", "One text"),
        ("0end0", "One text with an e-mail"),
        ("결제", "취소"),
        ("sign up page", "The page has a sign."),
        ("custom", "customer"),
        ("plan", "plane"),
    ],
)
def test_a_query_does_not_find_another_text(query: str, text: str) -> None:
    assert not finds(query, text)


def test_words_that_say_little_are_ignored_and_named() -> None:
    query = parse_query("the export IS not for me")
    assert (query.typed, query.ignored) == ((("export",), ("not",)), ("the", "is", "for", "me"))
    assert parse_query('"is not"').ignored == ()


def test_a_phrase_does_not_go_from_one_text_to_the_next() -> None:
    assert " a b " not in f" {make_index_words('x a', 'b y')} "


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("notes", "note"),
        ("noting", "note"),
        ("cancelled", "cancel"),
        ("policies", "policy"),
        ("processes", "process"),
        ("statuses", "status"),
        ("settings", "setting"),
        ("used", "use"),
        ("billing", "bill"),
        ("menus", "menu"),
        ("cpus", "cpu"),
        ("wikis", "wiki"),
        ("emojis", "emoji"),
        ("ids", "id"),
        ("kpis", "kpi"),
        ("pdfs", "pdf"),
        ("guaranteed", "guarantee"),
        ("agreed", "agree"),
        ("typed", "type"),
        ("typing", "type"),
        ("eating", "eat"),
        ("planning", "plan"),
        ("hoped", "hope"),
        ("stated", "state"),
        ("caching", "cache"),
        ("ties", "tie"),
        ("aliases", "alias"),
        ("embeds", "embedded"),
        ("exceeds", "exceeded"),
        ("queued", "queue"),
        ("replies", "replying"),
        ("called", "call"),
        ("owed", "owe"),
    ],
)
def test_inflections_have_one_stem(one: str, other: str) -> None:
    assert stem(one) == stem(other)


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("news", "new"),
        ("stats", "state"),
        ("committee", "commit"),
        ("hope", "hop"),
        ("organization", "organ"),
        ("thing", "th"),
    ],
)
def test_other_words_have_other_stems(one: str, other: str) -> None:
    assert stem(one) != stem(other)


@pytest.mark.parametrize(
    ("typed", "stored"),
    [
        ("Anna Müller", "Anna Mu\u0308ller"),
        ("anna muller", "Anna Müller"),
        ("Anna Mueller", "Anna Müller"),
        ("Anna Müller", "Anna Mueller"),
        ("Sean O'Brien", "Sean O\u2019Brien"),
        ("sean obrien", "Sean O'Brien"),
        ("Anne Marie", "Anne-Marie"),
        ("ozlem yildiz", "Özlem Yıldız"),
        ("sahin", "Şahin"),
        ("strasse", "Straße"),
        ("Acme Inc", "ACME  Inc."),
    ],
)
def test_names_have_one_key_in_any_spelling(typed: str, stored: str) -> None:
    assert name_key(stored) in list_name_keys(typed)


@pytest.mark.parametrize(
    ("name", "other", "is_same"),
    [
        ("Jörg Mueller", "Joerg Müller", True),
        ("Rafael Müller", "Rafael Mueller", True),
        ("Rafael", "Rafał", False),
        ("Muller", "Mueller", False),
    ],
)
def test_names_are_the_same_with_ae_for_umlauts(name: str, other: str, is_same: object) -> None:
    assert is_same_name(name, other) is is_same


def test_the_nearest_names_have_its_words_or_nearly() -> None:
    keys = ["maria keller", "mario rossi", "lena maria vogt", "peter pan", "acme"]
    assert find_nearest_names("Maria", keys, 3) == [keys[0], keys[2], keys[1]]
    assert find_nearest_names("keler", keys, 3) == ["maria keller"]
    assert find_nearest_names("zzz", keys, 3) == []


def test_values_are_the_same_in_any_case_and_with_other_separators() -> None:
    assert find_same_values("Step 1.1", ["step_11", "step_1_1"]) == ["step_1_1"]
    known = ["page_view", "click", "Öko-Tarif"]
    values = ("pageview", "Page View", "ÖKO-TARIF", "x")
    assert [find_same_values(value, known) for value in values] == [
        ["page_view"],
        ["page_view"],
        ["Öko-Tarif"],
        [],
    ]


def test_of_many_known_values_the_nearest_are_shown() -> None:
    known = [f"event_{number}" for number in range(40)]
    assert find_nearest_values("event-7x", known, 3)[0] == "event_7"
    assert find_nearest_values("x", known[:3]) == known[:3]


def test_folding_leaves_marks_that_make_another_letter() -> None:
    assert fold("パ") == "パ" != fold("ハ")
    assert fold("  Ａ\u00ad b\r\nc\u2028d ") == "a b c d"
